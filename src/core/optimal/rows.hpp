// The table as ranks, and the rows of a node: sorted by every column, and as a set of bits.

#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "optimal/optimal.hpp"

namespace treewise::optimal {

template <class Cost>
struct Table {
    explicit Table(const Problem& p, bool merge_rows)
        : cost(p), n_rows(static_cast<size_t>(p.n_rows)), scale(p.scale), penalty(p.penalty) {
        std::vector<uint32_t> kept(n_rows);
        std::iota(kept.begin(), kept.end(), 0u);
        if constexpr (Cost::kIsSigned)
            if (merge_rows) {
                std::vector<uint32_t> group = group_equal_rows(p, kept);
                cost.merge(group, kept);
                n_rows = kept.size();
            }
        for (size_t f = 0; f < p.n_ranks.size(); ++f) {
            std::vector<int32_t> column(n_rows);
            for (size_t r = 0; r < n_rows; ++r) column[r] = p.ranks[f * static_cast<size_t>(p.n_rows) + kept[r]];
            rank.push_back(std::move(column));
            is_binary.push_back(Cost::kIsSigned && p.n_ranks[f] <= 2);
            slot.push_back(static_cast<uint32_t>((is_binary[f] ? binary : numeric).size()));
            (is_binary[f] ? binary : numeric).push_back(static_cast<uint32_t>(f));
        }
        n_words = (n_rows + 63) / 64;
        for (uint32_t r = 0; r < n_rows; ++r) {
            reach.push_back(cost.reach(r) * scale);
            has_unit_reach &= reach[r] == reach[0];
        }
    }
    int64_t leaf(const typename Cost::Sum& sum) const { return cost.leaf(sum) * scale + penalty; }
    int64_t constant() const { return cost.constant() * scale; }

    Cost cost;
    size_t n_rows, n_words = 0;
    int64_t scale, penalty;
    std::vector<std::vector<int32_t>> rank;  // of each feature, by row
    std::vector<uint32_t> numeric, binary;   // features of more than two ranks, and others (signed costs only)
    std::vector<bool> is_binary;
    std::vector<uint32_t> slot;  // of each feature among its like
    std::vector<int64_t> reach;  // of each row, scaled
    bool has_unit_reach = true;

private:
    // Returns the group of each row; `kept` becomes one row of each group.
    static std::vector<uint32_t> group_equal_rows(const Problem& p, std::vector<uint32_t>& kept) {
        const auto n = static_cast<size_t>(p.n_rows), q = p.n_ranks.size();
        const auto equal = [&](uint32_t a, uint32_t b) {
            for (size_t f = 0; f < q; ++f)
                if (p.ranks[f * n + a] != p.ranks[f * n + b]) return false;
            return true;
        };
        std::vector<uint64_t> hash(n, 0);
        for (size_t f = 0; f < q; ++f)
            for (size_t r = 0; r < n; ++r)
                hash[r] = (hash[r] ^ static_cast<uint64_t>(p.ranks[f * n + r])) * 0x9E3779B97F4A7C15u + (hash[r] >> 29);
        std::unordered_map<uint64_t, std::vector<uint32_t>> groups_of;  // by hash; almost always one
        std::vector<uint32_t> group(n), first;
        for (uint32_t r = 0; r < n; ++r) {
            std::vector<uint32_t>& same = groups_of[hash[r]];
            const auto it = std::find_if(same.begin(), same.end(), [&](uint32_t g) { return equal(first[g], r); });
            if (it != same.end()) {
                group[r] = *it;
            } else {
                group[r] = static_cast<uint32_t>(first.size());
                same.push_back(group[r]), first.push_back(r);
            }
        }
        kept = first;
        return group;
    }
};

// The rows of a node.
template <class Cost>
struct Rows {
    std::vector<uint32_t> rows;   // ascending
    std::vector<uint32_t> order;  // numeric feature by numeric feature: the rows in order of rank
    std::vector<uint64_t> bits;
    typename Cost::Sum total{};

    size_t size() const { return rows.size(); }
    const uint32_t* sorted(size_t slot) const { return &order[slot * rows.size()]; }

    static Rows all(const Table<Cost>& table) {
        Rows out;
        out.rows.resize(table.n_rows);
        std::iota(out.rows.begin(), out.rows.end(), 0u);
        for (const uint32_t f : table.numeric) {
            std::vector<uint32_t> sorted = out.rows;
            const std::vector<int32_t>& rank = table.rank[f];
            std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return rank[a] < rank[b]; });
            out.order.insert(out.order.end(), sorted.begin(), sorted.end());
        }
        out.finish(table);
        return out;
    }
    // The rows on one side of a cut. `side` is scratch space of one byte per row of the table.
    Rows child(const Table<Cost>& table, size_t feature, int32_t cut, bool right, std::vector<uint8_t>& side) const {
        Rows out;
        const std::vector<int32_t>& rank = table.rank[feature];
        side.resize(table.n_rows);
        out.rows.resize(rows.size() + 1);  // one more, so that the loop needs no branch
        size_t n = 0;
        for (const uint32_t r : rows) {
            side[r] = (rank[r] > cut) == right;
            out.rows[n] = r, n += side[r];
        }
        out.rows.resize(n);
        out.order.resize(table.numeric.size() * n + 1);
        uint32_t* next = out.order.data();
        for (const uint32_t r : order) *next = r, next += side[r];
        out.order.resize(table.numeric.size() * n);
        out.finish(table);
        return out;
    }

private:
    void finish(const Table<Cost>& table) {
        bits.assign(table.n_words, 0);
        for (const uint32_t r : rows) bits[r / 64] |= uint64_t{1} << (r % 64), table.cost.add(total, r);
    }
};

// The cuts of a feature at a node: between neighbouring ranks.
struct Cuts {
    std::vector<int32_t> rank;  // the largest rank on the left
    std::vector<uint32_t> n_left;
    std::vector<int64_t> reach;  // of the rows on the left
    int64_t total_reach = 0;

    size_t size() const { return rank.size(); }
    template <class Cost>
    void find(const Table<Cost>& table, const Rows<Cost>& at, size_t feature) {
        rank.clear(), n_left.clear(), reach.clear();
        total_reach = 0;
        const std::vector<int32_t>& ranks = table.rank[feature];
        if (table.is_binary[feature]) {
            int64_t left = 0;
            uint32_t n = 0;
            for (const uint32_t r : at.rows) {
                const bool is_left = ranks[r] == 0;
                left += is_left ? table.reach[r] : 0, n += is_left, total_reach += table.reach[r];
            }
            if (n > 0 && n < at.size()) rank = {0}, n_left = {n}, reach = {left};
            return;
        }
        const uint32_t* sorted = at.sorted(table.slot[feature]);
        for (size_t i = 0; i + 1 < at.size(); ++i) {
            total_reach += table.reach[sorted[i]];
            const int32_t here = ranks[sorted[i]];
            if (here == ranks[sorted[i + 1]]) continue;
            rank.push_back(here), n_left.push_back(static_cast<uint32_t>(i + 1)), reach.push_back(total_reach);
        }
        if (at.size()) total_reach += table.reach[sorted[at.size() - 1]];
    }
};

}  // namespace treewise::optimal
