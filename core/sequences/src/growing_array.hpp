// An array whose final size is not known in advance.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "core/common/src/large_pages.hpp"

namespace gpualign {

// An array of text or offsets. New elements are not initialised. The memory is malloc's, so that `take` can hand it over.
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  ~GrowingArray() { std::free(data_); }

  size_t size() const { return size_; }
  bool has_room(size_t more) const { return size_ + more <= capacity_; }

  // Makes room for `more` elements at the end; `advance` then adds those that were written.
  void room(size_t more) {
    if (!has_room(more)) grow(size_ + more);
  }
  const T* begin() const { return data_; }
  T* begin() { return data_; }
  T* tail() { return data_ + size_; }
  void advance(size_t count) { size_ += count; }
  void cut(size_t size) { size_ = size; }
  void push_back(T value) {
    room(1);
    data_[size_++] = value;
  }
  void append(const T* values, size_t count) {
    room(count);
    if (count) std::memcpy(tail(), values, count * sizeof(T));
    advance(count);
  }

  // Allocates room for this many elements in total, if that is large and the system has it. Pages that are not written take no memory.
  void reserve(size_t count) {
    size_t bytes = count * sizeof(T);
    if (count <= capacity_ || bytes < kLargePage) return;
    T* const larger = static_cast<T*>(large_pages(bytes));
    if (!larger) return;
    if (size_) std::memcpy(larger, data_, size_ * sizeof(T));
    std::free(data_);
    data_ = larger;
    capacity_ = bytes / sizeof(T);
  }

  // Returns the elements, to be freed by free(), and leaves the array empty.
  T* take() {
    T* values = data_;
    if (!values || size_ < capacity_ / 2) values = static_cast<T*>(std::realloc(data_, (size_ ? size_ : 1) * sizeof(T)));
    if (!values) throw std::bad_alloc();
    data_ = nullptr;
    size_ = capacity_ = 0;
    return values;
  }

 private:
  void grow(size_t min_capacity) {
    const size_t capacity = min_capacity + min_capacity / 2 + 64;
    // Offsets are filled so fast that small pages would take a tenth of the time of reading short records. Text grows in place instead: in
    // large pages it took twice as long.
    if (sizeof(T) > 1) reserve(capacity);
    if (capacity <= capacity_) return;
    T* const larger = static_cast<T*>(std::realloc(data_, capacity * sizeof(T)));
    if (!larger) throw std::bad_alloc();
    data_ = larger;
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace gpualign
