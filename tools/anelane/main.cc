// The `anelane` command: reads the command line, and leaves everything else to one file for each subcommand.
// It uses the public C interface only, so that whatever it does any other program can do too. Signals keep
// their default disposition: Ctrl-C ends the tool at once, and the library's workers notice that their owner
// is gone.
#include <anelane.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <exception>
#include <map>
#include <new>

#include "describe.h"
#include "doctor.h"
#include "embed.h"
#include "mil.h"
#include "ps.h"
#include "replay.h"
#include "report.h"
#include "selftest.h"

namespace anelane_tool {
namespace {

const std::map<std::string, anelane_engine> kEngines = {
    {"auto", ANELANE_ENGINE_AUTO}, {"apple", ANELANE_ENGINE_APPLE}, {"soft", ANELANE_ENGINE_SOFT}};
const std::map<std::string, anelane_worker_mode> kWorkerModes = {{"process", ANELANE_WORKER_PROCESS},
                                                                 {"thread", ANELANE_WORKER_THREAD}};

// A name of `names`, and nothing else: CLI11's own transformer would accept the numbers too.
template <typename Value>
void add_choice(CLI::App* command, const std::string& flag, const std::map<std::string, Value>& names,
                Value* value, const std::string& help) {
  std::string choices;
  for (const auto& [name, unused] : names) choices += (choices.empty() ? "" : "|") + name;
  const auto check = [names, choices](const std::string& text) {
    return names.count(text) != 0 ? std::string() : "expected " + choices + ", got '" + text + "'";
  };
  command
      ->add_option_function<std::string>(
          flag, [names, value](const std::string& text) { *value = names.at(text); }, help)
      ->check(check)
      ->type_name(choices);
}

// A whole number of `unit`. CLI11's own check for numbers quotes the range of a double, all 309 digits of it.
template <typename Value>
void add_number(CLI::App* command, const std::string& flag, const std::string& unit, Value* value,
                const std::string& help) {
  const auto parse = [](const std::string& text, uint64_t* out) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), *out);
    return !text.empty() && fault == std::errc() && end == text.data() + text.size();
  };
  const auto check = [parse, unit](const std::string& text) {
    uint64_t ignored = 0;
    return parse(text, &ignored) ? std::string() : "expected whole " + unit + ", got '" + text + "'";
  };
  command
      ->add_option_function<std::string>(
          flag,
          [parse, value](const std::string& text) {
            uint64_t number = 0;
            parse(text, &number);
            *value = number;
          },
          help)
      ->check(check)
      ->type_name("N");
}

void add_lane_flags(CLI::App* command, LaneFlags* lane) {
  command->add_option("--lock-dir", lane->lock_dir, "Folder of the lane lock (default: per user)")
      ->type_name("DIR");
  command->add_option("--cache-dir", lane->cache_dir, "Folder of compiled programs (default: per user)")
      ->type_name("DIR");
  add_choice(command, "--engine", kEngines, &lane->engine, "Which engine (default: auto)");
  add_choice(command, "--worker-mode", kWorkerModes, &lane->worker_mode,
             "Where the engine runs (default: process)");
  command
      ->add_option("--record", lane->record_path, "Write all decisions of the lane to this file, for replay")
      ->type_name("FILE");
  command->add_flag("--stats", lane->stats, "Print the library's log lines on stderr");
}

std::string version_line() {
  return std::string("anelane ") + anelane_version() + " (interface " +
         std::to_string(anelane_abi_version()) + ")";
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (text.empty() || text.back() != '\n') std::fputs("\n", stdout);
  return finish_output();
}

// What the parser threw: help that was asked for, or wrong usage.
int end_parsing(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0)
    return print(dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr ? version_line() : app.help());
  std::string command = "anelane";
  for (const CLI::App* parsed : app.get_subcommands()) command += ' ' + parsed->get_name();
  complain(std::string(error.what()) + "; see " + command + " --help");
  return kExitUsage;
}

// The first argument, where it is neither a command nor a flag. The parser would only say that it misses one.
bool is_unknown_command(const CLI::App& app, int argc, char** argv, std::string* known) {
  if (argc < 2 || app.get_option_no_throw(argv[1]) != nullptr) return false;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->check_name(argv[1])) return false;
    *known += (known->empty() ? "" : ", ") + command->get_name();
  }
  return true;
}

struct MilCommands {
  CLI::App *check = nullptr, *run = nullptr;
};

MilCommands add_mil(CLI::App* app, MilCheckFlags* check, MilRunFlags* run) {
  MilCommands commands;
  CLI::App* mil = app->add_subcommand("mil", "Check or run one program of your own, written as MIL text");
  mil->require_subcommand(1);
  commands.check = mil->add_subcommand("check", "Print ports, operations and what compilers would object to");
  const CLI::Validator named(
      [](std::string& path) { return std::string(path.empty() ? "names no file" : ""); }, "");
  commands.check->add_option("FILE", check->mil, "The text")->required()->check(named);
  commands.check->add_option("--weights", check->weights, "The weight file")->type_name("BLOB")->check(named);
  commands.check->add_flag("--json", check->json, "Print one JSON object");
  commands.run = mil->add_subcommand("run", "Run the program once on a lane");
  commands.run->add_option("FILE", run->mil, "The text")->required()->check(named);
  commands.run->add_option("--weights", run->weights, "The weight file")->type_name("BLOB")->check(named);
  commands.run
      ->add_option("--input", run->inputs, "NAME=FILE.npy, NAME=zeros or NAME=random:SEED; for each input")
      ->allow_extra_args(false)
      ->type_name("NAME=WHAT");
  commands.run->add_option("--output", run->outputs, "Write this output to a file; may be given again")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE.npy");
  commands.run->add_option("--repeat", run->repeat, "Run as often, print the shortest time (default: 1)")
      ->check(CLI::Range(1u, 1'000'000u))
      ->type_name("N");
  commands.run->add_flag("--json", run->json,
                         "Print one JSON object; a null among \"first\" is NaN or an infinity, \"nan\" and "
                         "\"infinite\" count all of them");
  add_number(commands.run, "--deadline-ms", "milliseconds", &run->deadline_ms,
             "Longest wait for everything (default: 600000)");
  add_lane_flags(commands.run, &run->lane);
  return commands;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Embeds texts through libanelane: on the Neural Engine, or on the software engine that stands in for "
      "it.");
  app.name("anelane");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_line(), "Print the version and exit");
  app.footer(
      "Exit codes: 0 done, 1 refused, 2 wrong usage, 75 try again later (stderr says after how long).");

  EmbedFlags embed;
  CLI::App* embed_command = app.add_subcommand("embed", "Embed texts");
  embed_command->add_option("--model", embed.model_dir, "Checkpoint folder")->required()->type_name("DIR");
  embed_command->add_option("--text", embed.texts, "A text; may be given again")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  embed_command
      ->add_option("--file", embed.files, "A file with one text a line, - for stdin; may be given again")
      ->allow_extra_args(false)
      ->type_name("FILE");
  embed_command->add_flag("--json", embed.json, "Print one JSON object with all vectors");
  add_number(embed_command, "--deadline-ms", "milliseconds", &embed.deadline_ms,
             "Longest wait for everything (default: 600000)");
  add_lane_flags(embed_command, &embed.lane);

  DescribeFlags describe;
  CLI::App* describe_command =
      app.add_subcommand("describe", "Describe a checkpoint, or without --model the lane's holder");
  describe_command->add_option("--model", describe.model_dir, "Checkpoint folder")->type_name("DIR");
  describe_command->add_option("--lock-dir", describe.lock_dir, "Folder of the lane lock (default: per user)")
      ->type_name("DIR");
  describe_command->add_flag("--json", describe.json, "Print one JSON object");

  PsFlags ps;
  CLI::App* ps_command =
      app.add_subcommand("ps", "Show who holds the lane, its workers, shapes, queue and learned costs");
  ps_command->add_option("--lock-dir", ps.lock_dir, "Folder of the lane lock (default: per user)")
      ->type_name("DIR");
  ps_command->add_flag("--json", ps.json, "Print one JSON object");

  MilCheckFlags mil_check;
  MilRunFlags mil_run;
  const MilCommands mil = add_mil(&app, &mil_check, &mil_run);

  DoctorFlags doctor;
  CLI::App* doctor_command =
      app.add_subcommand("doctor", "Examine this machine step by step, and say what to do where it fails");
  add_choice(doctor_command, "--engine", kEngines, &doctor.engine, "Which engine (default: auto)");
  doctor_command
      ->add_option("--cache-dir", doctor.cache_dir, "Folder of compiled programs (default: per user)")
      ->type_name("DIR");
  doctor_command
      ->add_option("--temp-dir", doctor.temp_dir, "Folder for temporary files (default: the system's)")
      ->type_name("DIR");
  doctor_command->add_option("--lock-dir", doctor.lock_dir,
                             "Folder of the lane whose crash loops are shown (default: per user)");
  add_number(doctor_command, "--temp-space-min", "bytes", &doctor.temp_space_min,
             "Free bytes that a compile needs there (default: 512 MiB)");
  doctor_command->add_flag("--count-pool", doctor.count_pool,
                           "Fill the engine with programs for a moment, to see how many it takes");
  doctor_command->add_flag("--json", doctor.json, "Print one JSON object");

  CLI::App* version_command = app.add_subcommand("version", "Print the version");

  std::string record;
  CLI::App* replay_command =
      app.add_subcommand("replay", "Decide a recorded lane's history again and compare");
  replay_command->add_option("FILE", record, "What embed --record or the lane option record_path wrote")
      ->required();

  SelftestFlags selftest;
  CLI::App* selftest_command =
      app.add_subcommand("selftest", "Check that library, worker and engine work here");
  selftest_command
      ->add_option("--model", selftest.model_dir, "Checkpoint folder (default: a tiny one of its own)")
      ->type_name("DIR");
  add_choice(selftest_command, "--engine", kEngines, &selftest.engine, "Which engine (default: auto)");
  add_choice(selftest_command, "--worker-mode", kWorkerModes, &selftest.worker_mode,
             "Where the engine runs (default: process)");

  if (std::string known; is_unknown_command(app, argc, argv, &known)) {
    complain("unknown command '" + std::string(argv[1]) + "': expected one of " + known);
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_parsing(app, error);
  }
  if (version_command->parsed()) return print(version_line());
  if (describe_command->parsed()) return run_describe(describe);
  if (ps_command->parsed()) return run_ps(ps);
  if (mil.check->parsed()) return run_mil_check(mil_check);
  if (mil.run->parsed()) return run_mil(mil_run);
  if (doctor_command->parsed()) return run_doctor(doctor);
  if (replay_command->parsed()) return run_replay(record);
  if (selftest_command->parsed()) return run_selftest(selftest);
  return run_embed(embed);
}

}  // namespace
}  // namespace anelane_tool

int main(int argc, char** argv) {
  try {
    return anelane_tool::run(argc, argv);
  } catch (const std::bad_alloc&) {
    anelane_tool::complain("there is not enough memory for this");
    return anelane_tool::kExitRefused;
  } catch (const std::exception& error) {  // nothing that we know of
    anelane_tool::complain(error.what());
    return anelane_tool::kExitRefused;
  }
}
