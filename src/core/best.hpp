// The competition of candidates: what an offer is, and which of two wins.
//
// Larger merit wins. Merits nearer than rounding may have moved them are a tie, and ties are decided by the key
// (earlier column, then kind, then position, then placement of the missing rows) or, on request, by a draw that depends
// only on the seed, the node and the candidate. search.py (pick) is the specification.

#pragma once

#include <compare>

#include "fixed.hpp"
#include "problem.hpp"

namespace treewise {

struct Key {
    int64_t column = 0;
    int64_t kind = 0;
    int64_t position = 0;
    int64_t placement = 0;
    auto operator<=>(const Key&) const = default;
};

// A counter-based generator (splitmix64's finaliser): the same draw for the same candidate, whoever asks and when.
inline uint64_t stir(uint64_t state, uint64_t value) {
    uint64_t z = state + 0x9E3779B97F4A7C15u * (value + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

inline uint64_t draw(uint64_t node, const Key& key) {
    uint64_t h = node;
    for (int64_t part : {key.column, key.kind, key.position, key.placement}) h = stir(h, static_cast<uint64_t>(part));
    return h;
}

struct Offer {
    int128 merit = 0;
    int128 gain = 0;  // decrease of total impurity
    Key key;
    int128 slack = 0;   // by how much rounding may have moved the merit
    int filled = 0;     // branches with rows
    int128 spread = 0;  // Σ m·log m of the branches, for the gain ratio
};

class Best {
public:
    Best(bool random, uint64_t node) : random_(random), node_(node) {}

    bool offer(const Offer& o) {
        if (found_ && !beats(o)) return false;
        found_ = true;
        best_ = o;
        return true;
    }
    bool found() const { return found_; }
    const Offer& get() const { return best_; }

private:
    bool beats(const Offer& o) const {
        const int128 slack = o.slack + best_.slack;
        if (o.merit > best_.merit + slack) return true;
        if (o.merit < best_.merit - slack) return false;
        if (random_) {
            const uint64_t mine = draw(node_, o.key), theirs = draw(node_, best_.key);
            if (mine != theirs) return mine < theirs;
        }
        return o.key < best_.key;
    }
    bool random_;
    uint64_t node_;
    bool found_ = false;
    Offer best_;
};

}  // namespace treewise
