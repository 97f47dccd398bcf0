// A list that grows piece by piece: what is in it stays where it is, and no piece is so large that the C library would
// have the system clear new memory for it and give it back at the end.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace treewise {

template <class T>
class Pieces {
public:
    size_t size() const { return size_; }
    T& operator[](size_t i) { return pieces_[i / kEach][i % kEach]; }
    const T& operator[](size_t i) const { return pieces_[i / kEach][i % kEach]; }
    void push_back(T&& value) {
        if (size_ % kEach == 0) {
            pieces_.emplace_back();
            if (size_) pieces_.back().reserve(kEach);  // a short list takes no more than it needs
        }
        pieces_.back().push_back(std::move(value));
        ++size_;
    }

private:
    static constexpr size_t kEach = 1 << 10;
    std::vector<std::vector<T>> pieces_;
    size_t size_ = 0;
};

}  // namespace treewise
