// A buffer of bytes whose final size is not known in advance.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "core/common/src/large_pages.hpp"

namespace gpualign {

// A buffer that grows in place if the system can. Its memory is malloc's, so that `take` can give it away.
class GrowingBytes {
 public:
  GrowingBytes() = default;
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  ~GrowingBytes() { std::free(data_); }

  size_t size() const { return size_; }

  // Makes room for `more` bytes at the end; `advance` then adds those that were written.
  void room(size_t more) {
    if (size_ + more > capacity_) grow(size_ + more);
  }
  const uint8_t* begin() const { return data_; }
  uint8_t* begin() { return data_; }
  uint8_t* tail() { return data_ + size_; }
  void advance(size_t bytes) { size_ += bytes; }
  void cut(size_t size) { size_ = size; }
  void append(std::string_view bytes) {
    room(bytes.size());
    if (!bytes.empty()) std::memcpy(tail(), bytes.data(), bytes.size());
    advance(bytes.size());
  }

  // Allocates room for this many bytes while the buffer is empty, if the system has it. Pages that are not written take no memory.
  void reserve(size_t bytes) {
    if (data_ || bytes < kLargePage) return;
    data_ = static_cast<uint8_t*>(large_pages(bytes));
    if (data_) capacity_ = bytes;
  }

  // Returns the bytes, to be freed by free(), and leaves the buffer empty.
  uint8_t* take() {
    uint8_t* bytes = data_;
    if (!bytes || size_ < capacity_ / 2) bytes = static_cast<uint8_t*>(std::realloc(data_, size_ ? size_ : 1));
    if (!bytes) throw std::bad_alloc();
    data_ = nullptr;
    size_ = capacity_ = 0;
    return bytes;
  }

 private:
  void grow(size_t min_capacity) {
    const size_t capacity = min_capacity + min_capacity / 2 + 64;
    uint8_t* const larger = static_cast<uint8_t*>(std::realloc(data_, capacity));
    if (!larger) throw std::bad_alloc();
    data_ = larger;
    capacity_ = capacity;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace gpualign
