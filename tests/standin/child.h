// Starting standin_probe with knobs in its environment.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace standin {

class Child {
 public:
  // Knobs by their lower-case names.
  Child(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& knobs);
  ~Child();  // kills what still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  std::string line();  // one line of its output, without the newline; "" at the end
  std::string rest();  // everything until it closes its output
  void close_input();
  void kill();  // kill -9, and waits
  int wait();   // its wait status

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, status_ = 0;
};

}  // namespace standin
