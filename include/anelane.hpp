// clang-format off
// libanelane from C++17 on: owners for the handles of anelane.h, errors as values, and callables for the ends
// of operations. Header only; everything is a thin call of the C interface, whose comments hold here too:
// what blocks, which errors come, which threads run what.
//
// Errors.    Result<T> holds an Error, and a T that is null where the Error is not OK. Using a null Lane,
//            Model, Lease or Tokenizer answers BAD_HANDLE. Nothing throws, nothing ends the program, and the
//            header builds with -fno-exceptions and -fno-rtti.
// Owners.    Lane, Model, Lease, Tokenizer and Operation can be moved, not copied, and give back what they
//            own exactly once: by their close(), retire(), release(), or at the end of their scope, in any
//            order. detach() takes the handle out of an owner, adopt() puts one in.
// Threads.   An owner may be used by many threads at once, but moved, assigned and destroyed by one only,
//            when no other uses it (as a std::unique_ptr). Handles and Pending are plain values.
// Memory.    Allocated are: what the caller asks for (Vectors, Text), pointers for texts that are no C
//            strings yet, and one node for each callable. No memory: OUT_OF_MEMORY.
// clang-format on
#ifndef ANELANE_HPP
#define ANELANE_HPP
#include <anelane.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace anelane {
inline namespace v1 {

// ---------------------------------------------------------------- views
// Elements that lie in a row and belong to somebody else: what std::span is from C++20 on. Made from arrays
// and from whatever has data() and size().
template <class T>
class Span {
 public:
  constexpr Span() noexcept = default;
  constexpr Span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t N>
  constexpr Span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  template <
      class C,
      class = std::enable_if_t<
          !std::is_same_v<std::remove_cv_t<std::remove_reference_t<C>>, Span> &&
          std::is_convertible_v<std::remove_pointer_t<decltype(std::declval<C&>().data())> (*)[], T (*)[]> &&
          std::is_convertible_v<decltype(std::declval<C&>().size()), std::size_t>>>
  constexpr Span(C&& container) noexcept : data_(container.data()), size_(container.size()) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T* begin() const noexcept { return data_; }
  constexpr T* end() const noexcept { return data_ + size_; }
  constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }  // i < size()

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// ---------------------------------------------------------------- errors
// All that the library says of one call, as a value of fixed size.
class Error {
 public:
  Error() noexcept {
    raw_.struct_size = sizeof raw_;
    raw_.item = -1;
  }
  explicit Error(const anelane_error& raw) noexcept : raw_(raw) {}
  // One that this header answers itself.
  Error(anelane_status status, const char* message, std::int64_t item = -1, std::uint64_t limit = 0) noexcept
      : Error() {
    raw_.status = status;
    raw_.item = item;
    raw_.limit = limit;
    std::strncpy(raw_.message, message, sizeof raw_.message - 1);
  }

  bool ok() const noexcept { return raw_.status == ANELANE_OK; }
  anelane_status status() const noexcept { return raw_.status; }
  const char* name() const noexcept { return anelane_status_name(raw_.status); }  // "SHAPE_COMPILING"
  bool transient() const noexcept { return raw_.error_class == ANELANE_TRANSIENT; }
  bool safe_to_retry() const noexcept { return raw_.safe_to_retry != 0; }
  // When to ask again; nothing: nobody knows.
  std::optional<std::chrono::milliseconds> retry_after() const noexcept {
    if (raw_.retry_after_ms == 0) return std::nullopt;
    return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(raw_.retry_after_ms));
  }
  std::optional<std::uint64_t> item() const noexcept {  // index of the offending item
    if (raw_.item < 0) return std::nullopt;
    return static_cast<std::uint64_t>(raw_.item);
  }
  std::uint64_t limit() const noexcept { return raw_.limit; }
  std::uint32_t shape() const noexcept { return raw_.shape; }
  std::uint64_t lane_id() const noexcept { return raw_.lane_id; }
  std::uint32_t holder_pid() const noexcept { return raw_.holder_pid; }
  std::string_view model() const noexcept { return text_in(raw_.model, sizeof raw_.model); }
  std::string_view message() const noexcept { return text_in(raw_.message, sizeof raw_.message); }
  // Everything on one line, as anelane_error_text.
  std::size_t text(char* buf, std::size_t cap) const noexcept { return anelane_error_text(&raw_, buf, cap); }
  const anelane_error& raw() const noexcept { return raw_; }

  // For calls of the C interface: `Error e; e.take(anelane_admit(…, e.out()))`.
  anelane_error* out() noexcept { return &raw_; }
  Error& take(anelane_status status) noexcept {
    raw_.status = status;
    return *this;
  }

 private:
  static std::string_view text_in(const char* text, std::size_t cap) noexcept {
    const void* end = std::memchr(text, 0, cap);
    return {text, end == nullptr ? cap : static_cast<std::size_t>(static_cast<const char*>(end) - text)};
  }
  anelane_error raw_{};
};

// A value or an error. `if (result)`, then `*result` and `result->`; the value of an error is a null one.
template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) noexcept : value_(std::move(value)) {}
  Result(const Error& error) noexcept : error_(error) {}
  explicit operator bool() const noexcept { return error_.ok(); }
  bool ok() const noexcept { return error_.ok(); }
  anelane_status status() const noexcept { return error_.status(); }
  const Error& error() const noexcept { return error_; }
  T& operator*() & noexcept { return value_; }
  const T& operator*() const& noexcept { return value_; }
  T&& operator*() && noexcept { return std::move(value_); }
  T* operator->() noexcept { return &value_; }
  const T* operator->() const noexcept { return &value_; }

 private:
  T value_{};
  Error error_;
};
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() noexcept = default;
  Result(const Error& error) noexcept : error_(error) {}
  explicit operator bool() const noexcept { return error_.ok(); }
  bool ok() const noexcept { return error_.ok(); }
  anelane_status status() const noexcept { return error_.status(); }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// ---------------------------------------------------------------- time
// When a call gives up waiting: `5s` from now, Deadline::none() for the lane's own bounds, Deadline::now()
// for no waiting at all. Durations of zero or less do not wait; those beyond 292 years are none().
class Deadline {
 public:
  template <class Rep, class Period>
  Deadline(std::chrono::duration<Rep, Period> from_now) noexcept : ns_(after(from_now)) {}
  static Deadline none() noexcept { return Deadline(ANELANE_NO_DEADLINE); }
  static Deadline now() noexcept { return Deadline(0); }
  static Deadline at_ns(std::uint64_t ns) noexcept { return Deadline(ns); }  // of anelane_now_ns
  std::uint64_t ns() const noexcept { return ns_; }

 private:
  explicit Deadline(std::uint64_t ns) noexcept : ns_(ns) {}
  template <class Rep, class Period>
  static std::uint64_t after(std::chrono::duration<Rep, Period> from_now) noexcept {
    using Far = std::chrono::duration<long double, std::nano>;
    const long double ns = Far(from_now).count();
    if (!(ns > 0)) return 0;
    if (ns >= 9.2e18L) return ANELANE_NO_DEADLINE;
    return anelane_now_ns() + static_cast<std::uint64_t>(ns);
  }
  std::uint64_t ns_;
};

// ---------------------------------------------------------------- memory
namespace detail {
struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
template <class T>
using Block = std::unique_ptr<T[], Free>;
// At least one element, so that null means "no memory" alone. T is trivial.
template <class T>
Block<T> allocate(std::size_t count) noexcept {
  static_assert(std::is_trivial_v<T>, "blocks are not constructed");
  if (count > SIZE_MAX / 2 / sizeof(T)) return nullptr;
  return Block<T>(static_cast<T*>(std::malloc((count == 0 ? 1 : count) * sizeof(T))));
}
inline Error no_memory() noexcept {
  // Of the class that the library gives it.
  anelane_error raw =
      Error(ANELANE_OUT_OF_MEMORY, "there is no memory for what this call makes: free some, then ask again")
          .raw();
  raw.error_class = ANELANE_TRANSIENT;
  raw.safe_to_retry = 1;
  return Error(raw);
}

// The owner of a handle. Drop must do nothing for null.
template <class Raw, void (*Drop)(Raw) noexcept>
class Owner {
 public:
  Owner() noexcept = default;
  Owner(Owner&& other) noexcept : raw_(other.detach()) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) reset(other.detach());
    return *this;
  }
  ~Owner() { reset(Raw{}); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  explicit operator bool() const noexcept { return raw_.bits != 0; }
  Raw raw() const noexcept { return raw_; }  // still owned
  [[nodiscard]] Raw detach() noexcept { return std::exchange(raw_, Raw{}); }

 protected:
  explicit Owner(Raw raw) noexcept : raw_(raw) {}
  void reset(Raw raw) noexcept {
    const Raw old = std::exchange(raw_, raw);
    if (old.bits != 0) Drop(old);
  }
  Raw raw_{};
};
}  // namespace detail

// A text that the library wrote, NUL behind it.
class Text {
 public:
  Text() noexcept = default;
  std::string_view view() const noexcept { return {c_str(), size_}; }
  const char* c_str() const noexcept { return data_ ? data_.get() : ""; }

  // What a call of the form (buf, cap, &len, err) writes.
  template <class Call>
  static Result<Text> from(Call&& call) noexcept {
    Text text;
    // It may grow between the two calls; not for ever.
    for (int tries = 0; tries < 8; tries++) {
      Error error;
      std::size_t size = 0;
      const std::size_t cap = text.data_ ? text.size_ + 1 : 0;
      if (!error.take(call(text.data_.get(), cap, &size, error.out())).ok()) return error;
      text.size_ = size;
      if (size < cap) return text;
      text.data_ = detail::allocate<char>(size + 1);
      if (!text.data_) return detail::no_memory();
    }
    return Error(ANELANE_INTERNAL, "the text grows faster than it can be read");
  }

 private:
  detail::Block<char> data_;
  std::size_t size_ = 0;
};

// Vectors in somebody else's memory, one a row.
class VectorsView {
 public:
  VectorsView() noexcept = default;
  VectorsView(const float* data, std::size_t rows, std::size_t dim) noexcept
      : data_(data), rows_(rows), dim_(dim) {}
  const float* data() const noexcept { return data_; }
  std::size_t rows() const noexcept { return rows_; }
  std::size_t dim() const noexcept { return dim_; }
  Span<const float> operator[](std::size_t row) const noexcept { return {data_ + row * dim_, dim_}; }

 private:
  const float* data_ = nullptr;
  std::size_t rows_ = 0, dim_ = 0;
};

// Vectors of one's own.
class Vectors {
 public:
  Vectors() noexcept = default;
  Vectors(detail::Block<float> data, std::size_t rows, std::size_t dim) noexcept
      : data_(std::move(data)), rows_(rows), dim_(dim) {}
  std::size_t rows() const noexcept { return rows_; }
  std::size_t dim() const noexcept { return dim_; }
  Span<const float> operator[](std::size_t row) const noexcept { return view()[row]; }
  VectorsView view() const noexcept { return {data_.get(), rows_, dim_}; }

 private:
  detail::Block<float> data_;
  std::size_t rows_ = 0, dim_ = 0;
};

// ---------------------------------------------------------------- input
// Texts as a caller has them: one, or an array, vector or list of std::string, std::string_view or C strings.
// Only a view, for the time of a call. A text with NUL in it is refused, as the C interface would see its
// beginning only.
class Texts {
  template <class T>
  static constexpr bool kIsText =
      std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view> || std::is_same_v<T, const char*>;

 public:
  Texts(const char* one) noexcept : one_c_(one), data_(&one_c_), count_(1), kind_(Kind::kC) {}
  Texts(std::string_view one) noexcept : one_(one), data_(&one_), count_(1), kind_(Kind::kView) {}
  Texts(const std::string& one) noexcept : data_(&one), count_(1), kind_(Kind::kString) {}
  Texts(std::initializer_list<std::string_view> list) noexcept
      : data_(std::data(list)), count_(list.size()), kind_(Kind::kView) {}
  Texts(Span<const char* const> list) noexcept : data_(list.data()), count_(list.size()), kind_(Kind::kC) {}
  Texts(Span<const std::string> list) noexcept
      : data_(list.data()), count_(list.size()), kind_(Kind::kString) {}
  Texts(Span<const std::string_view> list) noexcept
      : data_(list.data()), count_(list.size()), kind_(Kind::kView) {}
  template <class C, class T = std::decay_t<decltype(*std::declval<const C&>().data())>,
            class = std::enable_if_t<kIsText<T>>>
  Texts(const C& container) noexcept : Texts(Span<const T>(container.data(), container.size())) {}
  template <class T, std::size_t N, class = std::enable_if_t<kIsText<T>>>
  Texts(const T (&array)[N]) noexcept : Texts(Span<const T>(array, N)) {}
  Texts(const Texts&) = delete;  // it may point into itself
  Texts& operator=(const Texts&) = delete;

  std::size_t size() const noexcept { return count_; }

  // Calls `use(const char* const*, count, anelane_error*)` with C strings that live as long as the call.
  template <class Use>
  Error with_c_strings(Use&& use) const noexcept {
    Error error;
    if (kind_ == Kind::kC)
      return error.take(use(static_cast<const char* const*>(data_), count_, error.out()));
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count_; i++) {
      const std::string_view text = at(i);
      const std::size_t end = text.find('\0');
      if (end != std::string_view::npos)
        return {ANELANE_INVALID_ARGUMENT, "a text holds NUL at byte `limit`: embed its token ids instead",
                static_cast<std::int64_t>(i), end};
      if (kind_ == Kind::kView) bytes += text.size() + 1;
    }
    const char* few_pointers[16];
    detail::Block<const char*> many_pointers;
    if (count_ > 16) many_pointers = detail::allocate<const char*>(count_);
    const char** pointers = count_ > 16 ? many_pointers.get() : few_pointers;
    detail::Block<char> copies;
    if (bytes > 0) copies = detail::allocate<char>(bytes);
    if (pointers == nullptr || (bytes > 0 && !copies)) return detail::no_memory();
    char* next = copies.get();
    for (std::size_t i = 0; i < count_; i++) {
      const std::string_view text = at(i);
      if (kind_ == Kind::kString) {
        pointers[i] = text.data();  // of a std::string: NUL is behind it
        continue;
      }
      pointers[i] = next;
      if (!text.empty()) std::memcpy(next, text.data(), text.size());
      next[text.size()] = 0;
      next += text.size() + 1;
    }
    return error.take(use(static_cast<const char* const*>(pointers), count_, error.out()));
  }

 private:
  enum class Kind { kC, kString, kView };
  std::string_view at(std::size_t i) const noexcept {
    return kind_ == Kind::kString ? std::string_view(static_cast<const std::string*>(data_)[i])
                                  : static_cast<const std::string_view*>(data_)[i];
  }
  std::string_view one_{};
  const char* one_c_ = nullptr;
  const void* data_;
  std::size_t count_;
  Kind kind_;
};

// A path as the C interface takes it. One with NUL in it is refused, as with texts.
class Path {
 public:
  Path(const char* path) noexcept : path_(path) {}
  Path(const std::string& path) noexcept
      : path_(path.c_str()), holds_nul_(path.find('\0') != std::string::npos) {}
  const char* c_str() const noexcept { return path_; }
  Error check() const noexcept {
    if (!holds_nul_) return {};
    return {ANELANE_INVALID_ARGUMENT, "the path holds NUL, where C would cut it: give another"};
  }

 private:
  const char* path_;
  bool holds_nul_ = false;
};

inline anelane_tokens tokens(Span<const std::int32_t> ids) noexcept {
  return {ids.data(), ids.size()};
}

// The options of the C interface with their defaults; change the members that matter.
struct LaneOptions : anelane_lane_options {
  LaneOptions() noexcept : anelane_lane_options() {
    anelane_lane_options_init(this, sizeof(anelane_lane_options));
  }
};
// While a shape becomes resident.
struct Progress {
  std::uint32_t shape = 0, layer = 0, layers = 0;
  std::optional<std::chrono::milliseconds> left;  // nothing: nobody knows
};
struct ModelOptions : anelane_model_options {
  ModelOptions() noexcept : anelane_model_options() {
    anelane_model_options_init(this, sizeof(anelane_model_options));
  }
  // Calls `step(const Progress&)` on the completion thread. It stays the caller's, and has to live until the
  // lane is closed. It must be noexcept.
  template <class F>
  ModelOptions& report_to(F& step) noexcept {
    static_assert(std::is_nothrow_invocable_v<F&, const Progress&>,
                  "the callable must be noexcept: void(const Progress&) noexcept");
    progress = [](void* user, std::uint32_t shape, std::uint32_t layer, std::uint32_t layers,
                  std::uint64_t ms_left) noexcept {
      Progress now{shape, layer, layers, std::nullopt};
      if (ms_left != 0)
        now.left = std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(ms_left));
      (*static_cast<F*>(user))(now);
    };
    progress_user = const_cast<void*>(static_cast<const void*>(std::addressof(step)));
    return *this;
  }
};

// ---------------------------------------------------------------- leases
namespace detail {
inline void drop_lease(anelane_lease lease) noexcept {
  anelane_lease_release(lease);
}
// Ends a model without waiting: blocking is refused on the completion thread, so there the end is only
// started.
inline void drop_model(anelane_model model) noexcept {
  if (anelane_model_retire(model, 0, nullptr) != ANELANE_WRONG_THREAD) return;
  anelane_op op{};
  if (anelane_start_retire(model, ANELANE_NO_DEADLINE, nullptr, nullptr, &op, nullptr) == ANELANE_OK)
    anelane_op_release(op);
}
inline void drop_tokenizer(anelane_tokenizer tokenizer) noexcept {
  anelane_tokenizer_release(tokenizer);
}
inline void drop_operation(anelane_op op) noexcept {
  anelane_op_cancel(op);
  anelane_op_release(op);
}
constexpr std::uint64_t kCloseNs = 10'000'000'000;
inline void drop_lane(anelane_lane lane) noexcept {
  anelane_lane_close(lane, anelane_now_ns() + kCloseNs, nullptr);
}
}  // namespace detail

class Operation;
class Pending;

// A pinned shape.
class Lease : public detail::Owner<anelane_lease, detail::drop_lease> {
 public:
  Lease() noexcept = default;
  static Lease adopt(anelane_lease raw) noexcept { return Lease(raw); }
  void release() noexcept { reset({}); }
  // The port in the memory shared with the worker, valid until the lease ends.
  Result<anelane_tensor> map(std::uint32_t port) const noexcept {
    Error error;
    anelane_tensor tensor{};
    if (!error.take(anelane_lease_map(raw_, port, &tensor, error.out())).ok()) return error;
    return tensor;
  }
  Result<> run(Span<const anelane_tensor> in, Span<const anelane_tensor> out,
               Deadline deadline = Deadline::none()) const noexcept {
    Error error;
    return error.take(
        anelane_run(raw_, in.data(), in.size(), out.data(), out.size(), deadline.ns(), error.out()));
  }
  // Without blocking; inputs are copied. As Model's start_embed and embed_async.
  Result<Operation> start_run(Span<const anelane_tensor> in, Deadline deadline = Deadline::none(),
                              void* user = nullptr) const noexcept;
  template <class F>
  Result<Pending> run_async(Span<const anelane_tensor> in, Deadline deadline, F&& done) const noexcept;

 private:
  explicit Lease(anelane_lease raw) noexcept : Owner(raw) {}
};

// ---------------------------------------------------------------- models
// A loaded checkpoint. At the end of its scope it is retired, without waiting for running work.
class Model : public detail::Owner<anelane_model, detail::drop_model> {
 public:
  Model() noexcept = default;
  static Model adopt(anelane_model raw) noexcept { return Model(raw); }

  // What a checkpoint folder would serve. No lane is needed.
  static Result<anelane_model_info> inspect(Path path) noexcept {
    Error error = path.check();
    if (!error.ok()) return error;
    anelane_model_info info{};
    info.struct_size = sizeof info;
    if (!error.take(anelane_model_inspect(path.c_str(), &info, error.out())).ok()) return error;
    return info;
  }
  Result<anelane_model_info> info() const noexcept {
    Error error;
    anelane_model_info info{};
    info.struct_size = sizeof info;
    if (!error.take(anelane_model_get_info(raw_, &info, error.out())).ok()) return error;
    return info;
  }
  // How many ports a shape has; the first ports.size() of them are written.
  Result<std::size_t> ports(std::uint32_t shape, Span<anelane_port> ports) const noexcept {
    Error error;
    std::size_t count = 0;
    for (anelane_port& port : ports) port.struct_size = sizeof port;
    if (!error.take(anelane_model_ports(raw_, shape, ports.data(), ports.size(), &count, error.out())).ok())
      return error;
    return count;
  }
  // Ends it and waits for that until the deadline. The handle stays, and answers RETIRED.
  Result<> retire(Deadline deadline = Deadline::none()) noexcept {
    Error error;
    return error.take(anelane_model_retire(raw_, deadline.ns(), error.out()));
  }

  // Time until the shape is resident, were it asked for now; zero: it is.
  Result<std::chrono::milliseconds> predict(std::uint32_t shape) const noexcept {
    Error error;
    std::uint64_t ms = 0;
    if (!error.take(anelane_predict(raw_, shape, &ms, error.out())).ok()) return error;
    return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(ms));
  }
  Result<> admit(std::uint32_t shape, Deadline deadline = Deadline::none()) const noexcept {
    Error error;
    return error.take(anelane_admit(raw_, shape, deadline.ns(), error.out()));
  }
  Result<Lease> lease(std::uint32_t shape, Deadline deadline = Deadline::none()) const noexcept {
    Error error;
    anelane_lease lease{};
    if (!error.take(anelane_lease_acquire(raw_, shape, deadline.ns(), &lease, error.out())).ok())
      return error;
    return Lease::adopt(lease);
  }

  // One vector for each item, in their order. Into new memory:
  Result<Vectors> embed(Span<const anelane_tokens> items,
                        Deadline deadline = Deadline::none()) const noexcept {
    return into_new(items.size(), [&](float* out, anelane_error* error) noexcept {
      return anelane_embed(raw_, items.data(), items.size(), out, 0, nullptr, deadline.ns(), error);
    });
  }
  Result<Vectors> embed_texts(const Texts& texts, Deadline deadline = Deadline::none()) const noexcept {
    Error refused;
    Result<Vectors> vectors = into_new(texts.size(), [&](float* out, anelane_error* error) noexcept {
      refused = texts_into(texts, out, 0, nullptr, deadline);
      *error = refused.raw();
      return refused.status();
    });
    return vectors;
  }
  // Into the caller's: rows of row_stride floats (0: as many as a vector has), as many as there are items. An
  // `out` that is too small is refused (limit: the floats needed). item_status is empty or as long as the
  // items.
  Result<> embed_into(Span<float> out, Span<const anelane_tokens> items, Deadline deadline = Deadline::none(),
                      std::size_t row_stride = 0, Span<anelane_status> item_status = {}) const noexcept {
    Error error = check_room(out.size(), items.size(), row_stride, item_status.size());
    if (!error.ok()) return error;
    return error.take(anelane_embed(raw_, items.data(), items.size(), out.data(), row_stride,
                                    item_status.data(), deadline.ns(), error.out()));
  }
  Result<> embed_texts_into(Span<float> out, const Texts& texts, Deadline deadline = Deadline::none(),
                            std::size_t row_stride = 0,
                            Span<anelane_status> item_status = {}) const noexcept {
    const Error error = check_room(out.size(), texts.size(), row_stride, item_status.size());
    if (!error.ok()) return error;
    return texts_into(texts, out.data(), row_stride, item_status.data(), deadline);
  }

  // Without blocking. The end comes to Lane::next_completion with `user`, or to Operation::wait.
  Result<Operation> start_embed(Span<const anelane_tokens> items, Deadline deadline = Deadline::none(),
                                void* user = nullptr) const noexcept;
  Result<Operation> start_embed_texts(const Texts& texts, Deadline deadline = Deadline::none(),
                                      void* user = nullptr) const noexcept;
  Result<Operation> start_lease(std::uint32_t shape, Deadline deadline = Deadline::none(),
                                void* user = nullptr) const noexcept;
  // Without blocking. `done(Ended&)` is called exactly once, on the completion thread, if the call is
  // answered OK, and never otherwise. Callables must be noexcept.
  template <class F>
  Result<Pending> embed_async(Span<const anelane_tokens> items, Deadline deadline, F&& done) const noexcept;
  template <class F>
  Result<Pending> embed_texts_async(const Texts& texts, Deadline deadline, F&& done) const noexcept;
  template <class F>
  Result<Pending> lease_async(std::uint32_t shape, Deadline deadline, F&& done) const noexcept;
  template <class F>
  Result<Pending> retire_async(Deadline deadline, F&& done) noexcept;

 private:
  explicit Model(anelane_model raw) noexcept : Owner(raw) {}

  template <class Call>
  Result<Vectors> into_new(std::size_t count, Call&& call) const noexcept {
    const Result<anelane_model_info> known = info();
    if (!known) return known.error();
    const std::size_t dim = known->dim;
    if (dim != 0 && count > SIZE_MAX / 8 / dim) return detail::no_memory();
    detail::Block<float> data = detail::allocate<float>(count * dim);
    if (!data) return detail::no_memory();
    Error error;
    if (!error.take(call(data.get(), error.out())).ok()) return error;
    return Vectors(std::move(data), count, dim);
  }
  Error texts_into(const Texts& texts, float* out, std::size_t row_stride, anelane_status* item_status,
                   Deadline deadline) const noexcept {
    return texts.with_c_strings(
        [&](const char* const* utf8, std::size_t count, anelane_error* error) noexcept {
          return anelane_embed_texts(raw_, utf8, count, out, row_stride, item_status, deadline.ns(), error);
        });
  }
  Error check_room(std::size_t floats, std::size_t count, std::size_t row_stride,
                   std::size_t statuses) const noexcept {
    if (statuses != 0 && statuses != count)
      return {ANELANE_INVALID_ARGUMENT, "item_status is empty or has one place for each item"};
    if (count == 0) return {};
    const Result<anelane_model_info> known = info();
    if (!known) return known.error();
    const std::size_t stride = row_stride == 0 ? known->dim : row_stride;
    // The last row needs no more than its vector. A stride below that is the library's to refuse.
    if (floats < known->dim || (stride != 0 && (floats - known->dim) / stride < count - 1))
      return {
          ANELANE_INVALID_ARGUMENT, "out is too small: it needs `limit` floats", -1,
          stride != 0 && count - 1 > SIZE_MAX / 2 / stride ? SIZE_MAX : (count - 1) * stride + known->dim};
    return {};
  }
};

// ---------------------------------------------------------------- operations
// Something that was asked for without waiting, by its handle: a plain value, owned elsewhere. One that is
// over answers BAD_HANDLE.
class OperationRef {
 public:
  explicit OperationRef(anelane_op raw) noexcept : ref_(raw) {}
  anelane_op raw() const noexcept { return ref_; }
  // Asks for the end CANCELLED. It ends once, in one way or the other. Many at once: cancel_all.
  void cancel() const noexcept { anelane_op_cancel(ref_); }
  // Its own status and error; PENDING: it has not ended by the deadline.
  Result<> wait(Deadline deadline = Deadline::none()) const noexcept {
    Error error;
    return error.take(anelane_op_wait(ref_, deadline.ns(), error.out()));
  }
  // Results, once it has ended well. Vectors and outputs lie in the operation's memory.
  Result<VectorsView> vectors() const noexcept {
    Error error;
    const float* data = nullptr;
    std::size_t rows = 0, dim = 0;
    if (!error.take(anelane_op_floats(ref_, &data, &rows, &dim, error.out())).ok()) return error;
    return VectorsView(data, rows, dim);
  }
  Result<Span<const unsigned char>> output(std::uint32_t port) const noexcept {
    Error error;
    const void* data = nullptr;
    std::size_t bytes = 0;
    if (!error.take(anelane_op_output(ref_, port, &data, &bytes, error.out())).ok()) return error;
    return Span<const unsigned char>(static_cast<const unsigned char*>(data), bytes);
  }
  Result<Model> take_model() const noexcept {
    Error error;
    anelane_model model{};
    if (!error.take(anelane_op_model(ref_, &model, error.out())).ok()) return error;
    return Model::adopt(model);
  }
  Result<Lease> take_lease() const noexcept {
    Error error;
    anelane_lease lease{};
    if (!error.take(anelane_op_lease(ref_, &lease, error.out())).ok()) return error;
    return Lease::adopt(lease);
  }

 private:
  anelane_op ref_{};
};

// What a callable is told. Its results are gone when the callable returns; models and leases can be taken.
class Ended : public OperationRef {
 public:
  Ended(anelane_op op, anelane_status status) noexcept : OperationRef(op), status_(status) {}
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;
  bool ok() const noexcept { return status_ == ANELANE_OK; }
  anelane_status status() const noexcept { return status_; }
  Error error() const noexcept { return wait(Deadline::now()).error(); }

 private:
  anelane_status status_;
};

// A way to cancel what was started with a callable. A plain value; it may outlive the operation and the lane.
class Pending {
 public:
  Pending() noexcept = default;
  explicit Pending(anelane_op raw) noexcept : raw_(raw) {}
  void cancel() const noexcept { anelane_op_cancel(raw_); }
  anelane_op raw() const noexcept { return raw_; }

 private:
  anelane_op raw_{};
};

// The owner of an operation that was started without a callable. At the end of its scope the operation is
// cancelled, and its results are dropped.
class Operation : public detail::Owner<anelane_op, detail::drop_operation> {
 public:
  Operation() noexcept = default;
  static Operation adopt(anelane_op raw) noexcept { return Operation(raw); }
  OperationRef ref() const noexcept { return OperationRef(raw_); }
  void cancel() const noexcept { ref().cancel(); }
  Result<> wait(Deadline deadline = Deadline::none()) const noexcept { return ref().wait(deadline); }
  Result<VectorsView> vectors() const noexcept { return ref().vectors(); }
  Result<Span<const unsigned char>> output(std::uint32_t port) const noexcept { return ref().output(port); }
  Result<Model> take_model() const noexcept { return ref().take_model(); }
  Result<Lease> take_lease() const noexcept { return ref().take_lease(); }
  void release() noexcept { reset({}); }

 private:
  explicit Operation(anelane_op raw) noexcept : Owner(raw) {}
};

namespace detail {
template <class Op>
void cancel_each(Span<const Op> ops) noexcept {
  anelane_op raw[256];
  for (std::size_t begin = 0; begin < ops.size();) {
    std::size_t count = 0;
    while (count < std::size(raw) && begin < ops.size()) raw[count++] = ops[begin++].raw();
    anelane_op_cancel_many(raw, count);
  }
}
}  // namespace detail

// Asks for the end of many operations at once, which costs the lane one wake-up for some hundreds instead of
// one each. Those that have ended are passed over.
inline void cancel_all(Span<const Pending> ops) noexcept {
  detail::cancel_each(ops);
}
inline void cancel_all(Span<const Operation> ops) noexcept {
  detail::cancel_each(ops);
}
inline void cancel_all(Span<const OperationRef> ops) noexcept {
  detail::cancel_each(ops);
}

namespace detail {
// Keeps a callable until the operation has ended, then calls it and gives everything back.
template <class F>
struct Node {
  F done;
  static void on_end(void* user, anelane_op op, anelane_status status) noexcept {
    const std::unique_ptr<Node> self(static_cast<Node*>(user));
    {
      Ended ended(op, status);
      self->done(ended);
    }
    anelane_op_release(op);
  }
};

// `start(fn, user, &op, error)` is one of the anelane_start_ functions. Takes `done` only if it is answered
// OK.
template <class F, class Start>
Result<Pending> start_with(F&& done, Start&& start) noexcept {
  using Callable = std::decay_t<F>;
  static_assert(std::is_nothrow_invocable_v<Callable&, Ended&>,
                "the callable must be noexcept: void(Ended&) noexcept");
  static_assert(std::is_nothrow_constructible_v<Callable, F&&>,
                "the callable must not throw when it is moved in");
  std::unique_ptr<Node<Callable>> node(new (std::nothrow) Node<Callable>{std::forward<F>(done)});
  if (!node) return no_memory();
  Error error;
  anelane_op op{};
  if (!error.take(start(&Node<Callable>::on_end, node.get(), &op, error.out())).ok()) return error;
  (void)node.release();  // on_end has it
  return Pending(op);
}

template <class Start>
Result<Operation> start_queued(Start&& start) noexcept {
  Error error;
  anelane_op op{};
  if (!error.take(start(&op, error.out())).ok()) return error;
  return Operation::adopt(op);
}
}  // namespace detail

inline Result<Operation> Lease::start_run(Span<const anelane_tensor> in, Deadline deadline,
                                          void* user) const noexcept {
  return detail::start_queued([&](anelane_op* op, anelane_error* error) noexcept {
    return anelane_start_run(raw_, in.data(), in.size(), deadline.ns(), nullptr, user, op, error);
  });
}
template <class F>
Result<Pending> Lease::run_async(Span<const anelane_tensor> in, Deadline deadline, F&& done) const noexcept {
  return detail::start_with(std::forward<F>(done), [&](anelane_done_fn fn, void* user, anelane_op* op,
                                                       anelane_error* error) noexcept {
    return anelane_start_run(raw_, in.data(), in.size(), deadline.ns(), fn, user, op, error);
  });
}

inline Result<Operation> Model::start_embed(Span<const anelane_tokens> items, Deadline deadline,
                                            void* user) const noexcept {
  return detail::start_queued([&](anelane_op* op, anelane_error* error) noexcept {
    return anelane_start_embed(raw_, items.data(), items.size(), deadline.ns(), nullptr, user, op, error);
  });
}
inline Result<Operation> Model::start_embed_texts(const Texts& texts, Deadline deadline,
                                                  void* user) const noexcept {
  anelane_op op{};
  const Error error =
      texts.with_c_strings([&](const char* const* utf8, std::size_t count, anelane_error* e) noexcept {
        return anelane_start_embed_texts(raw_, utf8, count, deadline.ns(), nullptr, user, &op, e);
      });
  if (!error.ok()) return error;
  return Operation::adopt(op);
}
inline Result<Operation> Model::start_lease(std::uint32_t shape, Deadline deadline,
                                            void* user) const noexcept {
  return detail::start_queued([&](anelane_op* op, anelane_error* error) noexcept {
    return anelane_start_lease(raw_, shape, deadline.ns(), nullptr, user, op, error);
  });
}
template <class F>
Result<Pending> Model::embed_async(Span<const anelane_tokens> items, Deadline deadline,
                                   F&& done) const noexcept {
  return detail::start_with(std::forward<F>(done), [&](anelane_done_fn fn, void* user, anelane_op* op,
                                                       anelane_error* error) noexcept {
    return anelane_start_embed(raw_, items.data(), items.size(), deadline.ns(), fn, user, op, error);
  });
}
template <class F>
Result<Pending> Model::embed_texts_async(const Texts& texts, Deadline deadline, F&& done) const noexcept {
  return detail::start_with(std::forward<F>(done), [&](anelane_done_fn fn, void* user, anelane_op* op,
                                                       anelane_error* error) noexcept {
    const Error e =
        texts.with_c_strings([&](const char* const* utf8, std::size_t count, anelane_error* inner) noexcept {
          return anelane_start_embed_texts(raw_, utf8, count, deadline.ns(), fn, user, op, inner);
        });
    *error = e.raw();
    return e.status();
  });
}
template <class F>
Result<Pending> Model::lease_async(std::uint32_t shape, Deadline deadline, F&& done) const noexcept {
  return detail::start_with(std::forward<F>(done), [&](anelane_done_fn fn, void* user, anelane_op* op,
                                                       anelane_error* error) noexcept {
    return anelane_start_lease(raw_, shape, deadline.ns(), fn, user, op, error);
  });
}
template <class F>
Result<Pending> Model::retire_async(Deadline deadline, F&& done) noexcept {
  return detail::start_with(std::forward<F>(done), [&](anelane_done_fn fn, void* user, anelane_op* op,
                                                       anelane_error* error) noexcept {
    return anelane_start_retire(raw_, deadline.ns(), fn, user, op, error);
  });
}

// ---------------------------------------------------------------- lanes
// The one owner of the engine for this user. At the end of its scope it is closed, with ten seconds for
// workers to end in good order. Not inside a callable: there it cannot be closed, and stays open.
class Lane : public detail::Owner<anelane_lane, detail::drop_lane> {
 public:
  Lane() noexcept = default;
  static Lane adopt(anelane_lane raw) noexcept { return Lane(raw); }
  // Another process holds it: waits until the deadline, then LANE_BUSY names the holder.
  static Result<Lane> open(const LaneOptions& options = {}, Deadline deadline = Deadline::none()) noexcept {
    Error error;
    anelane_lane lane{};
    if (!error.take(anelane_lane_open(&options, deadline.ns(), &lane, error.out())).ok()) return error;
    return Lane(lane);
  }
  // A second close answers BAD_HANDLE. In a callable: WRONG_THREAD, and it stays open.
  Result<> close(Deadline deadline = Deadline::none()) noexcept {
    Error error;
    if (error.take(anelane_lane_close(raw_, deadline.ns(), error.out())).status() != ANELANE_WRONG_THREAD)
      raw_ = {};
    return error;
  }
  Result<anelane_lane_stats> stats() const noexcept {
    Error error;
    anelane_lane_stats stats{};
    stats.struct_size = sizeof stats;
    if (!error.take(anelane_lane_get_stats(raw_, &stats, error.out())).ok()) return error;
    return stats;
  }
  Result<Text> describe() const noexcept {  // JSON
    return Text::from([&](char* buf, std::size_t cap, std::size_t* len, anelane_error* error) noexcept {
      return anelane_lane_describe(raw_, buf, cap, len, error);
    });
  }
  // Of the lane at lock_dir (null: the default), whoever holds it.
  static Result<anelane_holder> holder(const char* lock_dir = nullptr) noexcept {
    Error error;
    anelane_holder holder{};
    holder.struct_size = sizeof holder;
    if (!error.take(anelane_lane_holder(lock_dir, &holder, error.out())).ok()) return error;
    return holder;
  }
  static Result<Text> peek(const char* lock_dir = nullptr) noexcept {  // JSON
    return Text::from([&](char* buf, std::size_t cap, std::size_t* len, anelane_error* error) noexcept {
      return anelane_lane_peek(lock_dir, buf, cap, len, error);
    });
  }

  Result<Model> load(Path path, Deadline deadline = Deadline::none()) const noexcept {
    return load(path, ModelOptions(), deadline);
  }
  Result<Model> load(Path path, const ModelOptions& options,
                     Deadline deadline = Deadline::none()) const noexcept {
    Error error = path.check();
    if (!error.ok()) return error;
    anelane_model model{};
    if (!error.take(anelane_model_load(raw_, path.c_str(), &options, deadline.ns(), &model, error.out()))
             .ok())
      return error;
    return Model::adopt(model);
  }
  // A model of your own programs, from memory that is read before the call returns (docs/programs.md).
  Result<Model> load_program(Span<const anelane_program_rung> rungs, const ModelOptions& options = {},
                             Deadline deadline = Deadline::none()) const noexcept {
    anelane_program program{};
    program.struct_size = sizeof program;
    if (rungs.size() > UINT32_MAX) return Error(ANELANE_INVALID_ARGUMENT, "too many rungs");
    program.rung_count = static_cast<std::uint32_t>(rungs.size());
    program.rungs = rungs.data();
    Error error;
    anelane_model model{};
    if (!error.take(anelane_model_load_program(raw_, &program, &options, deadline.ns(), &model, error.out()))
             .ok())
      return error;
    return Model::adopt(model);
  }
  Result<Operation> start_load(Path path, const ModelOptions& options = {},
                               Deadline deadline = Deadline::none(), void* user = nullptr) const noexcept {
    const Error refused = path.check();
    if (!refused.ok()) return refused;
    return detail::start_queued([&](anelane_op* op, anelane_error* error) noexcept {
      return anelane_start_load(raw_, path.c_str(), &options, deadline.ns(), nullptr, user, op, error);
    });
  }
  template <class F>
  Result<Pending> load_async(Path path, const ModelOptions& options, Deadline deadline,
                             F&& done) const noexcept {
    const Error refused = path.check();
    if (!refused.ok()) return refused;
    return detail::start_with(std::forward<F>(done), [&](anelane_done_fn fn, void* user, anelane_op* op,
                                                         anelane_error* error) noexcept {
      return anelane_start_load(raw_, path.c_str(), &options, deadline.ns(), fn, user, op, error);
    });
  }

  // For event loops: a descriptor that is readable while next_completion has something.
  Result<int> event_fd() const noexcept {
    Error error;
    int fd = -1;
    if (!error.take(anelane_lane_event_fd(raw_, &fd, error.out())).ok()) return error;
    return fd;
  }
  // An operation that has ended and was started without a callable; its owner is who started it. PENDING:
  // none.
  struct Completion {
    OperationRef operation{anelane_op{}};
    void* user = nullptr;
  };
  Result<Completion> next_completion() const noexcept {
    Error error;
    anelane_op op{};
    void* user = nullptr;
    if (!error.take(anelane_lane_next_completion(raw_, &op, &user, error.out())).ok()) return error;
    return Completion{OperationRef(op), user};
  }

 private:
  explicit Lane(anelane_lane raw) noexcept : Owner(raw) {}
};

// ---------------------------------------------------------------- tokenizers
class Tokenizer : public detail::Owner<anelane_tokenizer, detail::drop_tokenizer> {
 public:
  Tokenizer() noexcept = default;
  static Tokenizer adopt(anelane_tokenizer raw) noexcept { return Tokenizer(raw); }
  static Result<Tokenizer> load(Path path) noexcept {
    Error error = path.check();
    if (!error.ok()) return error;
    anelane_tokenizer tokenizer{};
    if (!error.take(anelane_tokenizer_load(path.c_str(), &tokenizer, error.out())).ok()) return error;
    return Tokenizer(tokenizer);
  }
  // How many ids the text has, special tokens included; the first ids.size() of them are written. NUL is a
  // character.
  Result<std::size_t> tokenize(std::string_view text, Span<std::int32_t> ids) const noexcept {
    Error error;
    std::size_t count = 0;
    const char* data = text.data() == nullptr ? "" : text.data();
    if (!error.take(anelane_tokenize(raw_, data, text.size(), ids.data(), ids.size(), &count, error.out()))
             .ok())
      return error;
    return count;
  }
  void release() noexcept { reset({}); }

 private:
  explicit Tokenizer(anelane_tokenizer raw) noexcept : Owner(raw) {}
};

// ---------------------------------------------------------------- library
inline const char* version() noexcept {
  return anelane_version();
}
namespace detail {
// Keeps a callable for lines of the log.
template <class F>
struct Log {
  F line;
  static void on_line(void* user, anelane_log_level level, const char* text) noexcept {
    static_cast<const Log*>(user)->line(level, std::string_view(text));
  }
};
inline Result<> log_result(anelane_status status) noexcept {
  if (status == ANELANE_OK) return {};
  return Error(status, "the log is set before the first lane is opened, at a level of anelane.h");
}
}  // namespace detail

// Where lines of the log of at least `least` go: nowhere, by default, and after set_log(nullptr). Before the
// first lane is opened; INVALID_ARGUMENT later. `line(level, text)` is called on any thread of the library,
// several at once, and is kept for as long as the process lives. It must be const and noexcept, and neither
// block nor call the library.
template <class F>
Result<> set_log(F&& line, anelane_log_level least = ANELANE_LOG_INFO) noexcept {
  using Callable = std::decay_t<F>;
  static_assert(std::is_nothrow_invocable_v<const Callable&, anelane_log_level, std::string_view>,
                "the callable must be noexcept: void(anelane_log_level, std::string_view) const noexcept");
  static_assert(std::is_nothrow_constructible_v<Callable, F&&>,
                "the callable must not throw when it is moved in");
  std::unique_ptr<detail::Log<Callable>> log(new (std::nothrow) detail::Log<Callable>{std::forward<F>(line)});
  if (!log) return detail::no_memory();
  const anelane_status status = anelane_set_log(&detail::Log<Callable>::on_line, log.get(), least);
  if (status == ANELANE_OK) (void)log.release();  // the library has it, and never says that it is done
  return detail::log_result(status);
}
inline Result<> set_log(std::nullptr_t) noexcept {
  return detail::log_result(anelane_set_log(nullptr, nullptr, ANELANE_LOG_OFF));
}
// What a MIL text takes and gives, and what compilers object to, as JSON. `weights` nullptr: no weight file.
inline Result<Text> mil_check(const char* path, const char* weights = nullptr) noexcept {
  return Text::from([&](char* buf, std::size_t cap, std::size_t* len, anelane_error* error) noexcept {
    return anelane_mil_check(path, weights, buf, cap, len, error);
  });
}
// A lane's record, decided again: how many steps, and the first difference ("": none).
struct Replay {
  std::uint64_t steps = 0;
  Text difference;
};
inline Result<Replay> replay(const char* path) noexcept {
  Replay replay;
  Result<Text> text =
      Text::from([&](char* buf, std::size_t cap, std::size_t* len, anelane_error* error) noexcept {
        return anelane_replay(path, &replay.steps, buf, cap, len, error);
      });
  if (!text) return text.error();
  replay.difference = std::move(*text);
  return replay;
}
// Does the library that was found fit this header?
inline bool abi_fits() noexcept {
  return anelane_abi_version() == ANELANE_ABI_VERSION;
}

}  // namespace v1
}  // namespace anelane
#endif  // ANELANE_HPP
