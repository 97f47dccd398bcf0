// The competition of candidates: what an offer is, and which of all wins.
//
// Rounding may have moved a merit by its slack, so the true one lies in merit ± slack. The best is sure to reach the
// largest lower end of all, the bar; the candidates whose upper end reaches the bar are tied. Ties are decided by the
// key (earlier column, then kind, then position, then placement of the missing rows) or, on request, by a draw that
// depends only on the seed, the node and the candidate. search.py (pick) is the specification.

#pragma once

#include <algorithm>
#include <compare>
#include <vector>

#include "problem/problem.hpp"
#include "util/fixed_point.hpp"
#include "util/rng.hpp"

namespace treewise {

struct Key {
    int64_t column = 0;
    int64_t kind = 0;
    int64_t position = 0;
    int64_t placement = 0;
    auto operator<=>(const Key&) const = default;
};

// The same draw for the same candidate, whoever asks and when.
inline uint64_t draw(uint64_t node, const Key& key) {
    uint64_t h = node;
    for (int64_t part : {key.column, key.kind, key.position, key.placement}) h = stir(h, static_cast<uint64_t>(part));
    return h;
}

struct Offer {
    int128 merit = 0;
    int128 gain = 0;  // decrease of total impurity; 0 where rounding alone may have made it
    Key key;
    int128 slack = 0;   // by how much rounding may have moved the merit
    int filled = 0;     // branches with rows
    int128 spread = 0;  // Σ m·log m of the branches, for the gain ratio
};

// Keeps what may still win, whatever the order of offers: an offer that comes later in the order of ties than another
// and reaches no higher never can, so few are kept.
class Best {
public:
    explicit Best(bool random) : random_(random) {}
    // Forgets what was offered; node: the key of the node whose candidates come next.
    void open(uint64_t node) { node_ = node, front_.clear(); }

    void offer(const Offer& o) {
        const int128 reach = o.merit + o.slack;
        if (!front_.empty() && reach < bar_) return;
        bar_ = front_.empty() ? o.merit - o.slack : std::max(bar_, o.merit - o.slack);
        const Entry mine{o, reach, random_ ? draw(node_, o.key) : 0};
        for (const Entry& e : front_) {
            if (e.reach >= reach && e.precedes(mine)) return;
        }
        std::erase_if(front_, [&](const Entry& e) { return e.reach < bar_ || (e.reach <= reach && mine.precedes(e)); });
        front_.push_back(mine);
    }
    bool found() const { return !front_.empty(); }
    const Offer& get() const {
        const Entry* best = nullptr;
        for (const Entry& e : front_) {
            if (e.reach >= bar_ && (!best || e.precedes(*best))) best = &e;
        }
        return best->offer;
    }

private:
    struct Entry {
        Offer offer;
        int128 reach;  // the largest its merit may be
        uint64_t drawn;
        bool precedes(const Entry& other) const {  // in the order of ties
            return drawn != other.drawn ? drawn < other.drawn : offer.key < other.offer.key;
        }
    };
    bool random_;
    uint64_t node_ = 0;
    int128 bar_ = 0;  // what the best is sure to reach
    std::vector<Entry> front_;
};

}  // namespace treewise
