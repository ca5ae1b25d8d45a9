// The dictionary is of the framework's own making and undocumented: every value is kind-checked before it is
// used and every number bounded, and what is not understood is an error that names it, not a guess.
//
// A program of ours has one procedure. Its two index arrays say which symbols it binds and in which order;
// the symbol arrays give the names, and the status lists describe the memory behind a name. Outputs carry
// "@output" after their MIL name. Strides that are absent or 0 follow from the extents.
#include "ane_direct/apple/model_attributes.h"

#include <algorithm>
#include <numeric>

#include "base/limits.h"

namespace anelane::apple {
namespace {

Status not_understood(const std::string& what) {
  return error(Code::kInternal, "the attributes of a loaded program are not understood: " + what +
                                    " is missing or of another kind");
}

std::optional<Dtype> find_dtype(const std::string& name) {
  for (const auto& [text, dtype] :
       {std::pair{"Float16", Dtype::kF16}, std::pair{"Float32", Dtype::kF32}, std::pair{"Int32", Dtype::kI32},
        std::pair{"Int8", Dtype::kI8}, std::pair{"UInt8", Dtype::kU8}})
    if (name == text) return dtype;
  return std::nullopt;
}

std::string mil_name(const std::string& symbol) {
  return symbol.substr(0, symbol.find('@'));
}

// A number of an entry; 0 when absent, nullopt when it is no number or negative or absurd.
std::optional<uint64_t> extent(const Foundation& f, Id entry, const char* key) {
  const Id value = f.value_of(entry, key);
  if (value == nullptr) return 0;
  const auto number = f.number_of(value);
  if (!number || *number < 0 || static_cast<uint64_t>(*number) > limits::kMaxSurface) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

// Capped at one more than the limit.
uint64_t product(std::initializer_list<uint64_t> factors) {
  uint64_t value = 1;
  for (const uint64_t factor : factors)
    if (__builtin_mul_overflow(value, factor, &value) || value > limits::kMaxSurface)
      return limits::kMaxSurface + 1;
  return value;
}

// The extents and strides of one entry of a status list.
Result<Port> read_port(const Foundation& f, Id entry, const std::string& name) {
  Port port;
  port.name = name;
  const auto type = f.text_of(f.value_of(entry, "Type"));
  if (!type) return not_understood("Type of " + name);
  const auto dtype = find_dtype(*type);
  if (!dtype) return error(Code::kUnsupported, "port " + name + " has elements of type " + *type);
  port.dtype = *dtype;
  uint64_t values[9];
  const char* const keys[9] = {"Batches",   "Channels",    "Depth",       "Height",    "Width",
                               "RowStride", "PlaneStride", "BatchStride", "Interleave"};
  for (size_t i = 0; i < 9; ++i) {
    const auto value = extent(f, entry, keys[i]);
    if (!value) return not_understood(std::string(keys[i]) + " of " + name);
    values[i] = *value;
  }
  if (values[8] > 1)
    return error(Code::kUnsupported,
                 "port " + name + " interleaves " + std::to_string(values[8]) + " channels");
  if (values[2] > 1) return error(Code::kUnsupported, "port " + name + " has a depth");
  const uint64_t element = dtype_size(port.dtype);
  const uint64_t n = std::max<uint64_t>(values[0], 1), c = std::max<uint64_t>(values[1], 1),
                 h = std::max<uint64_t>(values[3], 1), w = std::max<uint64_t>(values[4], 1);
  for (const uint64_t extent : {n, c, h, w})
    if (extent > limits::kMaxTensorElements) return not_understood("the extents of " + name);
  if (product({n, c, h, w, element}) > limits::kMaxSurface) return not_understood("the extents of " + name);
  const uint64_t row = values[5] != 0 ? values[5] : w * element;
  const uint64_t plane = values[6] != 0 ? values[6] : h * row;
  const uint64_t batch = values[7] != 0 ? values[7] : c * plane;
  // All below kMaxSurface, so that the sums of these capped products cannot overflow.
  const uint64_t bytes = product({n, batch}), used_row = w * element;
  const uint64_t used_plane = product({h - 1, row}) + used_row;
  if (row < used_row || plane < used_plane || batch < product({c - 1, plane}) + used_plane ||
      bytes > limits::kMaxSurface)
    return error(Code::kInternal, "port " + name + " has strides that are smaller than its extents");
  port.dims = {n, c, h, w};
  port.strides = {batch, plane, row, element};
  port.bytes = bytes;
  return port;
}

// The entry of `name` in the first of the lists that has it.
Id find_entry(const Foundation& f, Id status, std::initializer_list<const char*> lists,
              const std::string& name) {
  for (const char* list : lists)
    for (const Id entry : f.items_of(f.value_of(status, list)).value_or(std::vector<Id>()))
      for (const char* key : {"Symbol", "Name"})
        if (const auto text = f.text_of(f.value_of(entry, key)); text && mil_name(*text) == name)
          return entry;
  return nullptr;
}

Status read_side(const Foundation& f, Id description, Id procedure, Id status, bool inputs,
                 std::vector<Port>* ports, std::vector<size_t>* order, std::vector<int64_t>* symbols) {
  const char* names_key = inputs ? "kANEFModelInputSymbolsArrayKey" : "kANEFModelOutputSymbolsArrayKey";
  const char* index_key = inputs ? "ANEFModelInputSymbolIndexArray" : "ANEFModelOutputSymbolIndexArray";
  const auto names = f.items_of(f.value_of(description, names_key));
  if (!names) return not_understood(names_key);
  const auto indices = f.items_of(f.value_of(procedure, index_key));
  if (!indices) return not_understood(index_key);
  if (indices->empty() || indices->size() > limits::kMaxPorts) return not_understood(index_key);
  std::vector<Port> bound;
  for (const Id item : *indices) {
    const auto index = f.number_of(item);
    if (!index || *index < 0 || static_cast<uint64_t>(*index) >= names->size())
      return not_understood(index_key);
    const auto symbol = f.text_of((*names)[static_cast<size_t>(*index)]);
    if (!symbol) return not_understood(names_key);
    const std::string name = mil_name(*symbol);
    const Id entry =
        inputs ? find_entry(f, status, {"LiveInputList", "LiveStateList", "LiveInputParamList"}, name)
               : find_entry(f, status, {"LiveOutputList"}, name);
    if (entry == nullptr) return not_understood("the live list entry of " + name);
    ANELANE_ASSIGN(Port port, read_port(f, entry, name));
    bound.push_back(std::move(port));
    symbols->push_back(*index);
  }
  std::vector<size_t> sorted(bound.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](size_t a, size_t b) { return bound[a].name < bound[b].name; });
  order->resize(bound.size());
  for (size_t place = 0; place < sorted.size(); ++place) {
    (*order)[sorted[place]] = place;
    ports->push_back(bound[sorted[place]]);
  }
  return {};
}

}  // namespace

Result<ProgramPorts> read_attributes(const Foundation& f, Id attributes) {
  const Id description = f.value_of(attributes, "ANEFModelDescription");
  if (!f.is_dictionary(description)) return not_understood("ANEFModelDescription");
  const auto procedures = f.items_of(f.value_of(description, "ANEFModelProcedures"));
  if (!procedures || procedures->empty()) return not_understood("ANEFModelProcedures");
  const auto statuses = f.items_of(f.value_of(attributes, "NetworkStatusList"));
  if (!statuses || statuses->empty()) return not_understood("NetworkStatusList");
  const Id procedure = procedures->front(), status = statuses->front();
  ProgramPorts read;
  const Id id = f.value_of(procedure, "ANEFModelProcedureID");
  if (id != nullptr) {
    const auto number = f.number_of(id);
    if (!number || *number < 0) return not_understood("ANEFModelProcedureID");
    read.procedure = *number;
  }
  ANELANE_TRY(read_side(f, description, procedure, status, true, &read.inputs, &read.input_order,
                        &read.input_symbols));
  ANELANE_TRY(read_side(f, description, procedure, status, false, &read.outputs, &read.output_order,
                        &read.output_symbols));
  return read;
}

}  // namespace anelane::apple
