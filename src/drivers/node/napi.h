/* The few functions of Node-API that the addon uses. Its binary interface is fixed for ever, so
 * they are declared here and no package with Node's headers is needed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uv_loop_s;

/* NOLINTBEGIN: names as Node's documentation has them */
typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_ref__ *napi_ref;
typedef struct napi_callback_info__ *napi_callback_info;
typedef struct napi_handle_scope__ *napi_handle_scope;
typedef struct napi_async_context__ *napi_async_context;
typedef int napi_status; /* 0 is napi_ok */
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);
/* NOLINTEND */

#define NAPI_AUTO_LENGTH SIZE_MAX

napi_status napi_get_cb_info(napi_env env, napi_callback_info info, size_t *argc, napi_value *argv,
                             napi_value *self, void **data);
napi_status napi_get_undefined(napi_env env, napi_value *ret);
napi_status napi_get_boolean(napi_env env, bool value, napi_value *ret);
napi_status napi_create_object(napi_env env, napi_value *ret);
napi_status napi_create_int32(napi_env env, int32_t value, napi_value *ret);
napi_status napi_create_double(napi_env env, double value, napi_value *ret);
napi_status napi_create_string_utf8(napi_env env, const char *text, size_t len, napi_value *ret);
napi_status napi_create_array_with_length(napi_env env, size_t len, napi_value *ret);
napi_status napi_set_element(napi_env env, napi_value object, uint32_t index, napi_value value);
napi_status napi_create_function(napi_env env, const char *name, size_t len, napi_callback call,
                                 void *data, napi_value *ret);
napi_status napi_set_named_property(napi_env env, napi_value object, const char *name,
                                    napi_value value);
napi_status napi_get_value_int32(napi_env env, napi_value value, int32_t *ret);
napi_status napi_get_value_bool(napi_env env, napi_value value, bool *ret);
napi_status napi_get_value_string_utf8(napi_env env, napi_value value, char *buf, size_t size,
                                       size_t *ret);
napi_status napi_get_typedarray_info(napi_env env, napi_value array, int *type, size_t *len,
                                     void **data, napi_value *buffer, size_t *offset);
napi_status napi_create_reference(napi_env env, napi_value value, uint32_t count, napi_ref *ret);
napi_status napi_get_reference_value(napi_env env, napi_ref ref, napi_value *ret);
napi_status napi_open_handle_scope(napi_env env, napi_handle_scope *ret);
napi_status napi_close_handle_scope(napi_env env, napi_handle_scope scope);
napi_status napi_make_callback(napi_env env, napi_async_context context, napi_value self,
                               napi_value function, size_t argc, const napi_value *argv,
                               napi_value *ret);
napi_status napi_get_and_clear_last_exception(napi_env env, napi_value *ret);
napi_status napi_typeof(napi_env env, napi_value value, int *ret);
napi_status napi_fatal_exception(napi_env env, napi_value thrown);
napi_status napi_get_uv_event_loop(napi_env env, struct uv_loop_s **ret);
