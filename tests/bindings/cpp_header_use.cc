// Every function of anelane.hpp, compiled by check_cpp_header in each language version with every warning an
// error. Nothing of it runs.
#include <anelane.hpp>
#include <array>
#include <vector>

using namespace std::chrono_literals;

template <class T>
constexpr bool is_owner =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
    std::is_nothrow_destructible_v<T> && std::is_nothrow_default_constructible_v<T> && sizeof(T) == 8;
static_assert(is_owner<anelane::Lane> && is_owner<anelane::Model> && is_owner<anelane::Lease>);
static_assert(is_owner<anelane::Operation> && is_owner<anelane::Tokenizer>);
static_assert(std::is_trivially_copyable_v<anelane::Error> && std::is_trivially_copyable_v<anelane::Pending>);
static_assert(!std::is_copy_constructible_v<anelane::Ended> && !std::is_copy_constructible_v<anelane::Texts>);
static_assert(std::is_nothrow_move_constructible_v<anelane::Result<anelane::Model>>);

int use(int argc, char** argv);
int use(int argc, char** argv) {
  auto lane = anelane::Lane::open({}, 5s);
  if (!lane || !anelane::abi_fits()) return static_cast<int>(lane.error().item().value_or(0));
  auto model = lane->load(argv[1], 3s);
  auto again = lane->load(std::string("x"), anelane::ModelOptions(), anelane::Deadline::none());
  const std::vector<std::string> strings{"a"};
  const std::vector<std::string_view> views{"a"};
  std::vector<const char*> pointers{"a"};
  const char* array[] = {"a"};
  const std::string string_array[] = {"a"};
  const std::array<std::string_view, 1> view_array{"a"};
  bool all = model->embed_texts(strings) && model->embed_texts(views) && model->embed_texts(pointers) &&
             model->embed_texts(array) && model->embed_texts(string_array) &&
             model->embed_texts(view_array) && model->embed_texts({"a", "b"}) && model->embed_texts({"a"}) &&
             model->embed_texts("a") && model->embed_texts(strings[0]) &&
             model->embed_texts({strings[0], std::string("b")}, 1min);
  std::vector<float> out(10);
  std::vector<std::int32_t> ids(3);
  const anelane_tokens items[] = {anelane::tokens(ids)};
  anelane_status statuses[1];
  all = all && model->embed(items) && model->embed_into(out, items, 1s, 0, statuses) &&
        model->embed_texts_into(out, "a", 5ms);
  const auto done = [](anelane::Ended& ended) noexcept {
    (void)(ended.vectors() && ended.take_model() && ended.take_lease() && ended.output(2));
  };
  auto pending = model->embed_texts_async("a", 1s, done);
  pending->cancel();
  // A callable that owns something is moved in.
  all = all && model->embed_async(items, 1s, [last = std::move(*again)](anelane::Ended&) noexcept {}) &&
        model->lease_async(128, 1s, done) && model->retire_async(1s, done) &&
        lane->load_async("x", {}, 1s, done);
  const auto lease = model->lease(128);
  anelane_port ports[3];
  anelane_tensor tensors[3] = {};
  all = all && model->ports(128, ports) && lease->run(tensors, {}, 1s) &&
        lease->run_async(tensors, 1s, done) && lease->map(0) && model->predict(128) && model->admit(128) &&
        model->info() && anelane::Model::inspect("x") && lane->describe() && anelane::Lane::peek() &&
        anelane::Lane::holder();
  auto operation = lease->start_run(tensors);
  all = all && operation->wait(1s) && operation->output(2) && operation->vectors() &&
        operation->take_model() && operation->take_lease() && model->start_embed(items) &&
        model->start_embed_texts("a") && model->start_lease(128) && lane->start_load("x") &&
        lane->event_fd() && lane->next_completion() && lane->stats();
  const anelane::Pending many[] = {*pending, *pending};
  const std::vector<anelane::OperationRef> refs{operation->ref()};
  anelane::cancel_all(many);
  anelane::cancel_all({&*operation, 1});
  anelane::cancel_all(refs);
  operation->release();
  auto step = [](const anelane::Progress& now) noexcept { (void)now.left; };
  all = all && lane->load("x", anelane::ModelOptions().report_to(step)) &&
        anelane::set_log([](anelane_log_level, std::string_view) noexcept {}, ANELANE_LOG_WARN) &&
        anelane::set_log(nullptr);
  const auto tokenizer = anelane::Tokenizer::load("x");
  all = all && tokenizer->tokenize("a", ids);
  return all && argc > 1 ? static_cast<int>(anelane::Vectors().rows()) : 1;
}

#ifdef PLANTED_THROWING_CALLABLE
auto planted(const anelane::Model& model) {
  return model.embed_texts_async("a", 1s, [](anelane::Ended&) {});
}
#endif
#ifdef PLANTED_COPY
anelane::Lease planted(const anelane::Lease& lease) {
  return lease;
}
#endif
#ifdef PLANTED_IGNORED_ERROR
void planted(const anelane::Model& model);
void planted(const anelane::Model& model) {
  model.admit(128);
}
#endif
#ifdef PLANTED_DANGLING_TEXTS
anelane::Texts planted(const anelane::Texts& texts) {
  return texts;
}
#endif
#ifdef PLANTED_THROWING_LOG
auto planted() {
  return anelane::set_log([](anelane_log_level, std::string_view) {});
}
#endif
#ifdef PLANTED_CHANGING_LOG
auto planted() {
  return anelane::set_log([lines = 0](anelane_log_level, std::string_view) mutable noexcept { lines++; });
}
#endif
#ifdef PLANTED_THROWING_PROGRESS
void planted(anelane::ModelOptions& options) {
  static auto step = [](const anelane::Progress&) {};
  options.report_to(step);
}
#endif
#ifdef PLANTED_TEMPORARY_PROGRESS
void planted(anelane::ModelOptions& options) {
  options.report_to([](const anelane::Progress&) noexcept {});
}
#endif
