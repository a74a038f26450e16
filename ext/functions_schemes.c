/* tidemark_add_schemes(pointer): how a second extension adds target schemes to a connection. */
#include "function_call.h"
#include "glue.h"

void tide_function_add_schemes(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  const struct tide_schemes_offer *offer = sqlite3_value_pointer(argv[0], TIDE_SCHEMES_POINTER);
  if (offer == NULL)
    tide_err_set(&err, SQLITE_ERROR, "tidemark_add_schemes is for an extension of Tidemark, such as tidemark_net");
  else
    tide_schemes_add(&tide_functions_of(context)->shared->schemes, offer, &err);
  if (tide_err_is_set(&err))
    tide_glue_function_error(context, &err);
}
