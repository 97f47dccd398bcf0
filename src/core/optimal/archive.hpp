// Nodes that were solved before: the same rows, or rows that differ by few.
//
// A subtree of given depth and leaves costs a set of rows D' at least what it costs D, less the reach of D \ D'
// (Demirović et al. 2022, MurTree, "similarity-based lower bounding"). One archive per depth and thread; a ring of
// fixed size, so memory is bounded and old nodes are forgotten first. Hits are verified bit by bit.

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "optimal/rows.hpp"
#include "optimal/stump_scan.hpp"

namespace treewise::optimal {

// A subtree, as far as it cannot be found again quickly: stumps and leaves are left out.
struct Plan {
    int32_t feature = -1, rank = -1;
    int depth = 0, left_leaves = 0, right_leaves = 0;
    std::shared_ptr<const Plan> left, right;
};
using PlanPtr = std::shared_ptr<const Plan>;

struct Solved {
    int64_t value = 0;  // the least cost; if not exact, a lower bound
    bool exact = false;
    PlanPtr plan;
};

class Archive {
public:
    void reserve(size_t n_words, int64_t bytes) {
        capacity_ = static_cast<size_t>(std::max<int64_t>(64, bytes / static_cast<int64_t>(8 * n_words + 160)));
    }
    template <class Cost>
    const Solved* find(const Rows<Cost>& at, int leaves) const {
        const auto it = slot_of_.find(hash(at.bits, leaves));
        if (it == slot_of_.end()) return nullptr;
        const Entry& entry = entries_[it->second];
        return entry.leaves == leaves && entry.bits == at.bits ? &entry.solved : nullptr;
    }
    // The best lower bound that follows from similar sets of rows, at least `bound`.
    template <class Cost>
    int64_t lower_bound(const Table<Cost>& table, const Rows<Cost>& at, int leaves, int64_t bound) const {
        const size_t n = std::min(entries_.size(), kCompared);
        for (size_t i = 0; i < n; ++i) {
            const Entry& entry = entries_[(next_ + entries_.size() - 1 - i) % entries_.size()];
            if (entry.leaves < leaves || entry.solved.value <= bound) continue;
            if (table.has_unit_reach) {
                const int64_t unit = table.reach[0], most = (entry.solved.value - bound) / std::max<int64_t>(unit, 1);
                if (entry.size - static_cast<int64_t>(at.size()) > most) continue;
                const int64_t more = count_difference(entry.bits.data(), at.bits.data(), table.n_words);
                bound = std::max(bound, entry.solved.value - more * unit);
            } else {
                int64_t value = entry.solved.value;
                for (size_t w = 0; w < table.n_words && value > bound; ++w)
                    for (uint64_t rest = entry.bits[w] & ~at.bits[w]; rest; rest &= rest - 1)
                        value -= table.reach[w * 64 + static_cast<size_t>(std::countr_zero(rest))];
                bound = std::max(bound, value);
            }
        }
        return bound;
    }
    template <class Cost>
    void add(const Rows<Cost>& at, int leaves, const Solved& solved) {
        const uint64_t key = hash(at.bits, leaves);
        const auto known = slot_of_.find(key);
        if (known != slot_of_.end() && entries_[known->second].leaves == leaves &&
            entries_[known->second].bits == at.bits) {
            Solved& old = entries_[known->second].solved;
            if (!old.exact && (solved.exact || solved.value > old.value)) old = solved;
            return;
        }
        Entry entry{at.bits, key, static_cast<int64_t>(at.size()), leaves, solved};
        if (entries_.size() < capacity_) {
            next_ = entries_.size();
            entries_.push_back(std::move(entry));
        } else {
            const auto old = slot_of_.find(entries_[next_].key);
            if (old != slot_of_.end() && old->second == next_) slot_of_.erase(old);
            entries_[next_] = std::move(entry);
        }
        slot_of_[key] = next_;
        next_ = entries_.size() < capacity_ ? entries_.size() : (next_ + 1) % capacity_;
    }

private:
    static constexpr size_t kCompared = 256;
    struct Entry {
        std::vector<uint64_t> bits;
        uint64_t key;
        int64_t size;
        int leaves;
        Solved solved;
    };
    static uint64_t hash(const std::vector<uint64_t>& bits, int leaves) {
        uint64_t h = static_cast<uint64_t>(leaves);
        for (const uint64_t word : bits) {
            h = (h ^ word) * 0x9E3779B97F4A7C15u;
            h ^= h >> 32;
        }
        return h;
    }
    size_t capacity_ = 64, next_ = 0;
    std::vector<Entry> entries_;
    std::unordered_map<uint64_t, size_t> slot_of_;
};

}  // namespace treewise::optimal
