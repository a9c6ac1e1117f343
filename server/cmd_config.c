/* config: the effective values, or what the table says of all parameters. */
#include "core/base/fault.h"
#include "server/cmd.h"

enum { TEXT_BYTES = 1 << 18 };

static bool put_faults(struct buf *out)
{
#ifdef HYPERMEM_FAULTS
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        buf_printf(out, "%s\n", fault_name((enum fault_id)i));
    return true;
#else
    (void)out;
    return false;
#endif
}

int cmd_config(const struct cmd_call *call)
{
    struct buf out;
    struct err err = {.code = ERR_OK};
    bool serves = true;
    buf_init(&out, NULL, TEXT_BYTES);
    if (cmd_option(call, "example").at != NULL) {
        config_print_example(&out);
    } else if (cmd_option(call, "markdown").at != NULL) {
        config_print_markdown(&out);
    } else if (cmd_option(call, "faults").at != NULL) {
        serves = put_faults(&out);
        if (!serves)
            (void)err_set(&err, ERR_UNIMPLEMENTED, "this build has no fault points");
    } else {
        config_print(call->config, &out);
        serves = config_check_serve(call->config, &err) == ERR_OK;
    }
    int status = cmd_print(&out);
    buf_fini(&out);
    return serves ? status : cmd_fail("config", &err);
}
