// Layout, top to bottom: title, legend, time; one row for each worker; requests, packed so that none overlap;
// queue; budget. Everything that stands for something has a class and a <title> that says it in words.
#include "picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "story.h"

namespace anelane::sim {
namespace {

constexpr double kWidth = 1240, kRight = 130;
constexpr double kStream = 20, kLane = 9, kRowGap = 14, kAsk = 13, kChart = 70, kChartGap = 34;
constexpr double kLetter = 5.8;  // of a 10 px label
constexpr double kLeftLeast = 90;

constexpr const char* kStyle = R"(text{font:10px sans-serif;fill:#333}
.title{font-size:14px;font-weight:bold}.name{font-size:12px;font-weight:bold}.quiet{fill:#888}
.in{fill:#fff;font-size:9px}.grid{stroke:#e4e4e4}.frame{stroke:#bbb;fill:none}
.compile{fill:#3d6fa8}.load{fill:#2f9c95}.failed{fill:#c8403f}.evict{fill:#e8862d}.infer{fill:#5aa552}.down{fill:#cfcfcf}
.resident{fill:#d5e2f0}.leased{fill:#7d9fc9}
.settle{stroke:#b5b5b5}.gate{stroke:#e0ab2b}.own{stroke:#3d6fa8}.ended{stroke:#8a8a8a;stroke-dasharray:3 2}.room{stroke:#c8403f}
.wait{stroke-width:3}.end{stroke:#fff;stroke-width:.7}
.end-leased,.end-ready{fill:#2e8b2e}.end-later{fill:#e0ab2b}.end-refused{fill:#c8403f}.end-cancelled{fill:#999}.end-open{fill:#fff;stroke:#666}
.armed{fill:#fff;stroke:#c8403f;stroke-width:1.6}.fault{stroke:#c8403f;stroke-width:2}.drop{stroke:#888;stroke-width:1.5;fill:none}
.waiting{fill:#f0d9a0}.entries{fill:#c98a1b}.charged{fill:#a9c4e2}.limit{stroke:#c8403f;stroke-dasharray:4 3}
)";
constexpr const char* kSpanClass[] = {"compile", "load", "failed", "evict", "infer", "down"};
constexpr const char* kWaitClass[] = {"settle", "gate", "own", "ended", "room"};
constexpr const char* kEndClass[] = {"end-leased",  "end-ready",     "end-later",
                                     "end-refused", "end-cancelled", "end-open"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

std::string num(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}

class Drawing {
 public:
  Drawing(const Workload& workload, const Story& story, const std::vector<Sampler::Sample>& samples,
          const PictureRange& range)
      : w_(workload), story_(story), samples_(samples), from_(range.from) {
    to_ = range.to == kNever ? story.end : range.to;
    to_ = std::max(to_, from_ + 1000);
    left_ = kLeftLeast;
    for (const Model& m : w_.models) left_ = std::max(left_, 7.4 * static_cast<double>(m.name.size()) + 20);
  }

  std::string draw(const std::string& title) {
    text(10, 20, title, "title");
    legend(34);
    y_ = 92;
    const double top = y_;
    for (uint32_t m = 0; m < w_.models.size(); ++m) worker(m);
    requests();
    chart("queue", "waiting requests (light), entries (dark)", {"waiting", "entries"}, 0);
    chart("budget", "executables charged", {"charged"}, w_.options.executable_budget);
    const std::string body = std::move(out_);
    out_.clear();
    grid(top, y_);
    const double height = y_ + 20;
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
           num(left_ + kWidth + kRight) + "\" height=\"" + num(height) + "\" viewBox=\"0 0 " +
           num(left_ + kWidth + kRight) + " " + num(height) + "\">\n<style>" + kStyle +
           "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + out_ + body + "</svg>\n";
  }

 private:
  double x(Time t) const {
    return left_ +
           kWidth * static_cast<double>(std::clamp(t, from_, to_) - from_) / static_cast<double>(to_ - from_);
  }
  bool seen(Time from, Time to) const { return from <= to_ && to >= from_; }

  void text(double px, double py, const std::string& words, const char* cls = "") {
    out_ += "<text x=\"" + num(px) + "\" y=\"" + num(py) + "\"" +
            (*cls == 0 ? "" : std::string(" class=\"") + cls + "\"") + ">" + escaped(words) + "</text>\n";
  }
  void rect(double x0, double y0, double width, double height, const std::string& cls,
            const std::string& note) {
    out_ += "<rect x=\"" + num(x0) + "\" y=\"" + num(y0) + "\" width=\"" + num(width) + "\" height=\"" +
            num(height) + "\" class=\"" + cls + "\">";
    if (!note.empty()) out_ += "<title>" + escaped(note) + "</title>";
    out_ += "</rect>\n";
  }
  void line(double x0, double y0, double x1, double y1, const std::string& cls,
            const std::string& note = "") {
    out_ += "<line x1=\"" + num(x0) + "\" y1=\"" + num(y0) + "\" x2=\"" + num(x1) + "\" y2=\"" + num(y1) +
            "\" class=\"" + cls + "\">";
    if (!note.empty()) out_ += "<title>" + escaped(note) + "</title>";
    out_ += "</line>\n";
  }
  void diamond(double cx, double cy, const std::string& cls, const std::string& note) {
    out_ += "<path d=\"M" + num(cx - 4.5) + " " + num(cy) + "L" + num(cx) + " " + num(cy - 4.5) + "L" +
            num(cx + 4.5) + " " + num(cy) + "L" + num(cx) + " " + num(cy + 4.5) + "Z\" class=\"" + cls +
            "\"><title>" + escaped(note) + "</title></path>\n";
  }
  void crash(double cx, double cy, const std::string& note) {
    line(cx - 5, cy - 5, cx + 5, cy + 5, "fault", note);
    line(cx - 5, cy + 5, cx + 5, cy - 5, "fault", note);
  }
  void dot(double cx, double cy, const std::string& cls, const std::string& note) {
    out_ += "<circle cx=\"" + num(cx) + "\" cy=\"" + num(cy) + "\" r=\"3.6\" class=\"" + cls + "\"><title>" +
            escaped(note) + "</title></circle>\n";
  }

  void legend(double top) {
    double at = 10;
    const auto word = [&](const std::string& words) {
      text(at, top + 9, words);
      at += kLetter * static_cast<double>(words.size()) + 14;
    };
    static constexpr const char* kSpans[] = {"compile", "load",  "lost or refused",
                                             "evict",   "infer", "no process"};
    for (size_t i = 0; i < std::size(kSpans); ++i) {
      rect(at, top, 14, 10, std::string("key ") + kSpanClass[i], "");
      at += 18;
      word(kSpans[i]);
    }
    for (const char* stay : {"resident", "leased"}) {
      rect(at, top + 2, 14, 6, std::string("key ") + stay, "");
      at += 18;
      word(stay);
    }
    crash(at + 5, top + 5, "");
    at += 18;
    word("crash");
    dot(at + 6, top + 5, "armed", "the next admission fails");
    at += 16;
    word("fault to come");
    line(at + 4, top - 1, at + 4, top + 11, "drop");
    at += 12;
    word("dropped from the queue");
    at = 10;
    top += 17;
    static constexpr const char* kWaits[] = {"settles", "behind others", "its own admission", "no process",
                                             "no room, or held back"};
    for (size_t i = 0; i < std::size(kWaits); ++i) {
      line(at, top + 5, at + 14, top + 5, std::string("wait ") + kWaitClass[i]);
      at += 18;
      word(kWaits[i]);
    }
    static constexpr const char* kEnds[] = {
        "leased", "", "told when to come again", "refused or failed", "cancelled", "still waiting"};
    for (size_t i = 0; i < std::size(kEnds); ++i) {
      if (*kEnds[i] == 0) continue;
      mark(static_cast<End>(i), at + 6, top + 5, kEnds[i]);
      at += 16;
      word(kEnds[i]);
    }
  }

  void grid(double top, double bottom) {
    const double span = static_cast<double>(to_ - from_) / 1e6;
    double step = std::pow(10, std::floor(std::log10(span / 8)));
    for (const double factor : {2.0, 2.5, 2.0})
      if (span / step > 14) step *= factor;
    for (double s = std::ceil(static_cast<double>(from_) / 1e6 / step) * step;
         s <= static_cast<double>(to_) / 1e6; s += step) {
      const double px = x(std::llround(s * 1e6));
      line(px, top - 4, px, bottom, "grid");
      char label[32];
      std::snprintf(label, sizeof label, "%.*f s", step < 0.1 ? 2 : step < 1 ? 1 : 0, s);
      text(px + 2, top - 6, label, "quiet");
    }
  }

  void worker(uint32_t m) {
    const Model& model = w_.models[m];
    out_ += "<g class=\"worker\" id=\"worker-" + std::to_string(m) + "\">\n";
    text(10, y_ + 14, model.name, "name");
    text(10, y_ + 27, std::to_string(model.layers) + (model.layers == 1 ? " layer" : " layers"), "quiet");
    for (const Span& s : story_.spans) {
      if (s.model != m || !seen(s.from, s.to)) continue;
      const double x0 = x(s.from), width = std::max(0.8, x(s.to) - x0);
      rect(x0, y_, width, kStream, std::string("span ") + kSpanClass[static_cast<size_t>(s.kind)], s.note);
      const std::string label = s.shape == 0 ? "" : std::to_string(s.shape);
      if (width > kLetter * static_cast<double>(label.size()) + 4) text(x0 + 3, y_ + 13.5, label, "in");
    }
    for (const Mark& f : story_.faults) {
      if (f.model != m || !seen(f.t, f.t)) continue;
      const double px = x(f.t);
      if (!f.strikes) {
        dot(px, y_, "armed", f.note);
        continue;
      }
      crash(px, y_, f.note);
    }
    for (const Mark& d : story_.drops)
      if (d.model == m && seen(d.t, d.t)) line(x(d.t), y_ - 5, x(d.t), y_ + kStream, "drop", d.note);
    double lane = y_ + kStream + 4;
    for (const RungCosts& r : model.rungs) {
      text(left_ - 8 - kLetter * static_cast<double>(std::to_string(r.shape).size()), lane + 7,
           std::to_string(r.shape), "quiet");
      stays(m, r.shape, lane);
      lane += kLane;
    }
    out_ += "</g>\n";
    y_ = lane + kRowGap;
  }

  void stays(uint32_t m, uint32_t shape, double lane) {
    for (const bool leases : {false, true}) {
      for (const Stay& s : story_.stays) {
        if (s.model != m || s.shape != shape || (s.lease != 0) != leases || !seen(s.from, s.to)) continue;
        const std::string name = w_.models[m].name + ":" + std::to_string(shape);
        const std::string what =
            leases ? "#" + std::to_string(s.lease) + " leases " + name : name + " is resident";
        rect(x(s.from), lane + (leases ? 2 : 0), std::max(0.8, x(s.to) - x(s.from)),
             leases ? kLane - 6 : kLane - 2, leases ? "leased" : "resident",
             what + ", " + seconds_text(s.from) + " to " + seconds_text(s.to));
      }
    }
  }

  void mark(End end, double px, double py, const std::string& note) {
    const std::string cls = std::string("end ") + kEndClass[static_cast<size_t>(end)];
    if (end == End::kLater)
      diamond(px, py, cls, note);
    else
      dot(px, py, cls, note);
  }

  void requests() {
    out_ += "<g class=\"requests\">\n";
    text(10, y_ + 10, "requests", "name");
    std::vector<double> lanes;  // where each is free again
    for (const Asked& a : story_.asked) {
      if (!seen(a.from, a.to)) continue;
      const std::string label =
          "#" + std::to_string(a.id) + " " + w_.models[a.model].name + ":" + std::to_string(a.shape);
      const double x0 = x(a.from), x1 = x(a.to);
      size_t lane = 0;
      while (lane < lanes.size() && lanes[lane] > x0 - 4) ++lane;
      if (lane == lanes.size()) lanes.push_back(0);
      lanes[lane] = x1 + 12 + kLetter * static_cast<double>(label.size());
      const double py = y_ + 6 + kAsk * static_cast<double>(lane);
      out_ += "<g class=\"request\">";
      for (const Wait& wait : a.waits) {
        if (!seen(wait.from, wait.to)) continue;
        line(x(wait.from), py, x(wait.to), py,
             std::string("wait ") + kWaitClass[static_cast<size_t>(wait.kind)],
             "#" + std::to_string(a.id) + ", " + seconds_text(wait.from) + " to " + seconds_text(wait.to) +
                 ": " + wait.note);
      }
      if (x1 > x0) line(x0, py - 4, x0, py + 4, "frame", a.note);
      mark(a.end, x1, py, a.note);
      text(x1 + 7, py + 3.5, label);
      out_ += "</g>\n";
    }
    out_ += "</g>\n";
    y_ += 6 + kAsk * static_cast<double>(std::max<size_t>(lanes.size(), 1)) + 4;
  }

  static uint32_t value(const Sampler::Sample& s, const std::string& of) {
    return of == "waiting" ? s.waiting : of == "entries" ? s.entries : s.charged;
  }

  void chart(const char* name, const char* words, const std::vector<std::string>& layers, uint32_t limit) {
    y_ += kChartGap - 14;
    out_ += std::string("<g class=\"chart\" id=\"") + name + "\">\n";
    uint32_t top = std::max<uint32_t>(limit, 1);
    for (const Sampler::Sample& s : samples_)
      if (seen(s.t, s.t))
        for (const std::string& of : layers) top = std::max(top, value(s, of));
    const auto height = [&](uint32_t v) { return y_ + kChart - kChart * v / top; };
    for (const std::string& of : layers) {
      std::string path = "M" + num(left_) + " " + num(y_ + kChart);
      double level = y_ + kChart;
      for (const Sampler::Sample& s : samples_) {
        if (s.t > to_) break;
        path += "L" + num(x(s.t)) + " " + num(level);
        level = height(value(s, of));
        path += "L" + num(x(s.t)) + " " + num(level);
      }
      path += "L" + num(x(to_)) + " " + num(level) + "L" + num(x(to_)) + " " + num(y_ + kChart) + "Z";
      out_ += "<path d=\"" + path + "\" class=\"" + of + "\"/>\n";
    }
    rect(left_, y_, kWidth, kChart, "frame", "");
    if (limit > 0) line(left_, height(limit), left_ + kWidth, height(limit), "limit", "the limit");
    text(10, y_ + 12, name, "name");
    text(left_ + 4, y_ - 3, words, "quiet");
    text(left_ + kWidth + 4, y_ + 8, std::to_string(top), "quiet");
    text(left_ + kWidth + 4, y_ + kChart, "0", "quiet");
    out_ += "</g>\n";
    y_ += kChart + 14;
  }

  const Workload& w_;
  const Story& story_;
  const std::vector<Sampler::Sample>& samples_;
  Time from_, to_ = 0;
  double left_ = 0, y_ = 0;
  std::string out_;
};

}  // namespace

void Sampler::after(Time now, const sched::Event&, std::span<const sched::Action>) {
  const sched::Snapshot s = world_.scheduler().snapshot(now);
  const Sample sample{now, static_cast<uint32_t>(s.queue.size()), s.waiting, s.charged};
  if (!samples_.empty()) {
    Sample& last = samples_.back();
    if (last.entries == sample.entries && last.waiting == sample.waiting && last.charged == sample.charged)
      return;
    if (last.t == now) {
      last = sample;
      return;
    }
  }
  samples_.push_back(sample);
}

std::string draw_picture(const std::string& title, const Workload& workload, const std::vector<LogLine>& log,
                         const std::vector<Sampler::Sample>& samples, const PictureRange& range) {
  const Story story = read_story(workload, log);
  return Drawing(workload, story, samples, range).draw(title);
}

}  // namespace anelane::sim
