// Bytes whose number is not known beforehand.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "large_pages.hpp"

namespace gpualign {

// Bytes that grow in place where the system can; memory of malloc, for whoever takes them.
class GrowingBytes {
 public:
  GrowingBytes() = default;
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  ~GrowingBytes() { std::free(data_); }

  size_t size() const { return size_; }

  // Makes room for `more` bytes at the tail, behind those that are there; `advance` keeps what was written of them.
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

  // Room for this many bytes at once, while there are none, if the system gives it. Pages that are not written to take no memory.
  void reserve(size_t bytes) {
    if (data_ || bytes < kLargePage) return;
    data_ = static_cast<uint8_t*>(large_pages(bytes));
    if (data_) capacity_ = bytes;
  }

  // The bytes, to be given to free(); nothing is left here.
  uint8_t* take() {
    uint8_t* kept = data_;
    if (!kept || size_ < capacity_ / 2) kept = static_cast<uint8_t*>(std::realloc(data_, size_ ? size_ : 1));
    if (!kept) throw std::bad_alloc();
    data_ = nullptr;
    size_ = capacity_ = 0;
    return kept;
  }

 private:
  void grow(size_t least) {
    const size_t wanted = least + least / 2 + 64;
    uint8_t* const larger = static_cast<uint8_t*>(std::realloc(data_, wanted));
    if (!larger) throw std::bad_alloc();
    data_ = larger;
    capacity_ = wanted;
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace gpualign
