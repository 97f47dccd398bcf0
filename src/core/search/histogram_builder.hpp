// Histograms of a node: rows, weight and target statistics per bin, for all columns in one array.
//
// Histograms of nodes waiting to be split are cached while memory allows, so that a child's histogram can be computed
// by subtraction (engines/histogram.hpp).

#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engines/engine.hpp"
#include "problem/bin_mapper.hpp"
#include "problem/quartiles.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

template <TargetKind K>
class HistogramBuilder {
public:
    HistogramBuilder(const FitContext& context, ThreadPool& pool, const std::function<void()>& check_interrupt)
        : context_(context),
          pool_(pool),
          check_interrupt_(check_interrupt),
          mappers_(context.columns.size()),
          offsets_(context.columns.size() + 1, 0) {
        const auto n_rows = static_cast<size_t>(context.target.n_rows);
        make_bins(n_rows);
        for (size_t c = 0; c < mappers_.size(); ++c)
            offsets_[c + 1] = offsets_[c] + (is_binned(c) ? kBins * bin_words(c) : 0);
        if constexpr (K == TargetKind::regression) {
            const int bits = 62 - bit_length(static_cast<uint128>(n_rows));
            square_shift_ = std::max(0, bits - bits / 2);
        }
    }

    const std::vector<BinMapper>& mappers() const { return mappers_; }
    // Frees bins and cache; no histogram can be built afterwards.
    void release() {
        bin_storage_.reset();
        cache_.clear();
    }
    bool is_binned(size_t column) const { return !mappers_[column].is_empty(); }

    // The histogram of a node, from the cache if possible.
    const std::vector<int64_t>& get(Segment node, std::span<const Row> node_rows) {
        const auto found = cache_.find(node.begin);
        if (found != cache_.end()) return found->second;
        if (!has_room()) cache_.clear();
        return cache_[node.begin] = count(node_rows);
    }
    bool is_cached(Segment node) const { return cache_.contains(node.begin); }
    const std::vector<int64_t>& cached(Segment node) const { return cache_.at(node.begin); }
    void cache(Segment node, std::vector<int64_t>&& counts) {
        if (has_room()) cache_[node.begin] = std::move(counts);
    }
    void evict(Segment node) { cache_.erase(node.begin); }
    std::vector<int64_t> take(Segment node) { return std::move(cache_.extract(node.begin).mapped()); }
    const int64_t* bins(const std::vector<int64_t>& array, size_t column) const {
        return array.data() + offsets_[column];
    }

    std::vector<int64_t> count(std::span<const Row> node_rows) {
        std::vector<int64_t> counts(offsets_.back(), 0);
        pool_.parallel_for(
            mappers_.size(),
            [&](size_t c, int) {
                if (is_binned(c)) count_column(c, node_rows, counts.data() + offsets_[c]);
            },
            check_interrupt_);
        return counts;
    }
    // Statistics of a bin (for numeric columns in regression only what scores need).
    void read_bin(const int64_t* bins, size_t column, size_t bin, RowStats& out) const {
        const size_t words = bin_words(column);
        const int64_t* c = bins + bin * words;
        if (words == 1) {
            const int64_t n_rows = c[0] & 0xFFFFFFFF, ones = c[0] >> 32;
            out[kRows] = out[kWeight] = n_rows, out[kCounts] = n_rows - ones, out[kCounts + 1] = ones;
        } else if (K == TargetKind::regression && words == 4) {
            std::fill(out.begin(), out.end(), 0);
            out[kRows] = c[0], out[kWeight] = c[1], out[kQuantised] = c[2];
        } else {
            std::copy_n(c, words, out.begin());
        }
    }
    int64_t bin_rows(const int64_t* bins, size_t column, size_t bin) const {
        const size_t words = bin_words(column);
        return words == 1 ? bins[bin] & 0xFFFFFFFF : bins[bin * words + kRows];
    }
    double bin_squares(const int64_t* bins, size_t bin) const {
        return std::ldexp(static_cast<double>(bins[bin * 4 + 3]), 2 * square_shift_);
    }

    // Quartiles of each numeric column over all rows, by selection within the bin where the cumulative weight is
    // reached.
    std::vector<Quartiles> quartiles(Segment all, std::span<const Row> node_rows) {
        const std::vector<int64_t>& histogram = get(all, node_rows);
        std::vector<Quartiles> found(mappers_.size());
        pool_.parallel_for(
            found.size(),
            [&](size_t c, int) {
                if (!context_.columns[c].is_code()) found[c] = quartiles_of(c, bins(histogram, c));
            },
            check_interrupt_);
        return found;
    }

private:
    bool has_room() const {
        constexpr size_t kWords = size_t{1} << 22;
        return (cache_.size() + 1) * offsets_.back() <= kWords;
    }
    // Words per bin: binary targets of unit weight pack rows (low) and ones (high) into one; numeric columns need no
    // exact sums.
    size_t bin_words(size_t column) const {
        if (K == TargetKind::binary && context_.unit_weights) return 1;
        if (K == TargetKind::regression && !context_.columns[column].is_code()) return 4;
        return context_.width();
    }
    void make_bins(size_t n) {
        constexpr size_t kBlock = 1 << 12;
        size_t n_binned = 0;
        for (const Column& column : context_.columns) n_binned += BinMapper::can_bin(column);
        bin_storage_.reset(new uint8_t[n_binned * n]);
        uint8_t* next = bin_storage_.get();
        for (size_t c = 0; c < mappers_.size(); ++c) {
            if (BinMapper::can_bin(context_.columns[c])) mappers_[c].bin_of_row = std::exchange(next, next + n);
        }
        pool_.parallel_for(
            mappers_.size(), [&](size_t c, int) { mappers_[c].fit(context_.columns[c], context_.target.n_rows); },
            check_interrupt_);
        pool_.parallel_for((n + kBlock - 1) / kBlock,
                           [&](size_t block, int) {
                               const size_t begin = block * kBlock, end = std::min(n, begin + kBlock);
                               for (size_t c = 0; c < mappers_.size(); ++c)
                                   mappers_[c].transform(context_.columns[c], begin, end);
                           },
                           check_interrupt_);
    }
    void count_column(size_t column, std::span<const Row> node_rows, int64_t* bins) const {
        const uint8_t* bin_of_row = mappers_[column].bin_of_row;
        const Target& target = context_.target;
        if constexpr (K == TargetKind::binary) {
            if (context_.unit_weights) {
                const uint8_t* label = target.label.bytes;
                for (Row r : node_rows) bins[bin_of_row[r]] += 1 + (static_cast<int64_t>(label[r]) << 32);
                return;
            }
        }
        if constexpr (K == TargetKind::regression) {
            if (!context_.columns[column].is_code()) {
                for (Row r : node_rows) {
                    const int64_t w = target.weight[r], v = context_.quantiser(target.y[r], w);
                    int64_t* bin = bins + 4 * size_t{bin_of_row[r]};
                    ++bin[0], bin[1] += w, bin[2] += v, bin[3] += squared_target(v, w);
                }
                return;
            }
        }
        for (Row r : node_rows)
            context_.add_row(bins + context_.width() * size_t{bin_of_row[r]}, r, target.y, context_.quantiser);
    }
    // v²/w without its lowest bits, rounded up.
    int64_t squared_target(int64_t v, int64_t w) const {
        const int64_t u = std::abs(v) >> square_shift_;
        if (w == 1) return u * u + 2 * u + 1;
        const double exact = static_cast<double>(v) * static_cast<double>(v) / static_cast<double>(w);
        return static_cast<int64_t>(std::ldexp(exact * (1 + 0x1p-48), -2 * square_shift_)) + 2;
    }

    Quartiles quartiles_of(size_t column, const int64_t* bins) const {
        RowStats bin(context_.width());
        int64_t present = 0;
        const auto weight_in = [&](size_t b) {
            read_bin(bins, column, b, bin);
            return bin[kWeight];
        };
        for (size_t b = 0; b < kMissingBin; ++b) present += weight_in(b);
        if (present == 0) return {};
        const auto key_at_weight = [&](int64_t required) {
            size_t b = 0;
            for (int64_t weight; (weight = weight_in(b)) < required; ++b) required -= weight;
            return select_in_bin(column, b, required);
        };
        return {key_at_weight(Quartiles::lower_weight(present)), key_at_weight(Quartiles::upper_weight(present))};
    }
    int64_t select_in_bin(size_t column, size_t bin, int64_t required) const {
        const BinMapper& mapper = mappers_[column];
        if (!mapper.mixed[bin]) return mapper.edges[bin];  // the bin's only value
        std::vector<Row> bin_members;
        const uint8_t* end = mapper.bin_of_row + context_.target.n_rows;
        for (const uint8_t* at = mapper.bin_of_row; (at = std::find(at, end, bin)) != end; ++at)
            bin_members.push_back(static_cast<Row>(at - mapper.bin_of_row));
        std::vector<int64_t> keys(bin_members.size());
        read_keys(context_.columns[column], bin_members, keys.data());
        WeightedSelector selector(context_.target.weight, context_.unit_weights);
        for (size_t i = 0; i < bin_members.size(); ++i) selector.add(keys[i], bin_members[i]);
        return selector.key_at_weight(required);
    }

    const FitContext& context_;
    ThreadPool& pool_;
    const std::function<void()>& check_interrupt_;
    std::unique_ptr<uint8_t[]> bin_storage_;  // bins of all columns
    std::vector<BinMapper> mappers_;
    std::vector<size_t> offsets_;                    // offset of each column's bins
    int square_shift_ = 0;                           // low bits dropped from v before squaring
    std::map<int64_t, std::vector<int64_t>> cache_;  // by start of the node's segment
};

}  // namespace treewise
