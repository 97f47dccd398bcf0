// Vector in chunks of 1,024 elements: elements never move, and no chunk is large enough for malloc to map fresh pages
// for it (which the kernel would have to clear) and unmap them at the end.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace treewise {

template <class T>
class ChunkedVector {
public:
    size_t size() const { return size_; }
    T& operator[](size_t i) { return chunks_[i / kChunkSize][i % kChunkSize]; }
    const T& operator[](size_t i) const { return chunks_[i / kChunkSize][i % kChunkSize]; }
    void push_back(T&& value) {
        if (size_ % kChunkSize == 0) {
            chunks_.emplace_back();
            if (size_) chunks_.back().reserve(kChunkSize);  // a short vector takes no more than it needs
        }
        chunks_.back().push_back(std::move(value));
        ++size_;
    }

private:
    static constexpr size_t kChunkSize = 1 << 10;
    std::vector<std::vector<T>> chunks_;
    size_t size_ = 0;
};

}  // namespace treewise
