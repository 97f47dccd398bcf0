// The random threshold of a column at a node (splitter="random"): anywhere between its smallest and its largest value.

#pragma once

#include "engines/engine.hpp"
#include "util/rng.hpp"

namespace treewise {

class RandomCut {
public:
    // low, high: the smallest and the largest rank of the column at the node.
    RandomCut(const SplitEngine& engine, const Column& column, size_t index, uint64_t node_key, int64_t low,
              int64_t high)
        : engine_(engine), index_(index), is_number_(column.is_number()) {
        const uint64_t random = split_key(node_key, index, kThreshold);
        if (is_number_)
            threshold_ = random_threshold(random, engine.to_double(index, low), engine.to_double(index, high));
        else
            threshold_int_ = random_threshold(random, engine.to_int(index, low), engine.to_int(index, high));
    }
    bool is_above(int64_t rank) const {  // or equal
        return is_number_ ? engine_.to_double(index_, rank) <= threshold_
                          : engine_.to_int(index_, rank) <= threshold_int_;
    }
    void store(ChosenSplit& split) const {
        is_number_ ? void(split.threshold = threshold_) : void(split.threshold_int = threshold_int_);
    }

private:
    const SplitEngine& engine_;
    size_t index_;
    bool is_number_;
    double threshold_ = 0;
    int64_t threshold_int_ = 0;
};

}  // namespace treewise
