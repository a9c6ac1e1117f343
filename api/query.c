/* GET and POST query (DESIGN 7, 10): steps of api/asking.h, the reply of api/query_reply.c. */
#include "api/asking.h"
#include "api/handlers.h"
#include "api/query_reply.h"

static enum err_code write_reply(struct api_call *call, const struct asked *asked, struct err *err)
{
    (void)err;
    query_write_reply(call, asked->reply, asked->degraded);
    return ERR_OK;
}

static enum step_verdict finish(struct api_call *call)
{
    return handler_finish(call, 200);
}

enum step_verdict query_any(struct step *step)
{
    static const struct asking_use use = {.reply = write_reply, .next = finish};
    return asking_start(step, &use);
}
