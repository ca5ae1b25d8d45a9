// Names, selectors and encodings as the knobs want them. See publish.h.
#import "publish.h"

static bool hidden(const char* knob, const char* name, const char* selector) {
  char item[256];
  snprintf(item, sizeof(item), "%s%s%s", name, selector != NULL ? "." : "", selector != NULL ? selector : "");
  return standin_knob_lists(knob, item);
}

// The types that knob `encoding` gives to Class.selector; kept for ever, as the runtime keeps the pointer.
static const char* types_of(const char* name, const struct StandinMethod* method) {
  char all[2048], item[256];
  if (!standin_knob("encoding", all, sizeof(all))) return method->types;
  snprintf(item, sizeof(item), "%s.%s=", name, method->selector);
  for (char* one = all; one != NULL;) {
    char* end = strchr(one, ';');
    if (end != NULL) *end = 0;
    if (strncmp(one, item, strlen(item)) == 0) return strdup(one + strlen(item));
    one = end != NULL ? end + 1 : NULL;
  }
  return method->types;
}

void standin_publish(Class compiled, const char* name, const struct StandinMethod* methods, size_t count) {
  if (hidden("hide_class", name, NULL)) return;
  Class published = objc_allocateClassPair(compiled, name, 0);
  if (published == Nil) abort();  // the framework's name is taken: two stand-ins in one process
  for (size_t i = 0; i < count; ++i) {
    const struct StandinMethod* one = &methods[i];
    if ((one->kind & STANDIN_SINCE_27) != 0 && standin_system() < 27) continue;
    if (hidden("hide_selector", name, one->selector)) continue;
    Class home = (one->kind & STANDIN_CLASS) != 0 ? object_getClass((id)published) : published;
    if (!class_addMethod(home, sel_registerName(one->selector), one->imp, types_of(name, one))) abort();
  }
  objc_registerClassPair(published);
}

void standin_enter(SEL selector) {
  const char* name = sel_getName(selector);
  if (!standin_raises(name)) return;
  STANDIN_COUNT(raised, 1);
  [NSException raise:@"StandinException" format:@"on purpose in %s", name];
}

id standin_nil(id self, SEL selector) {
  (void)selector;
  // -init gives up the object it was sent to; +new was sent to a class.
  if (!class_isMetaClass(object_getClass(self))) [self release];
  return nil;
}

void standin_assign(id* place, id value) {
  id old = *place;
  *place = [value retain];
  [old release];
}
