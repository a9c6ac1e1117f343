/* What each prompt costs and that its schema is one that every provider takes. HMTEST_SHOW=1 prints
 * the costs. */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/model/prompts/answer.h"
#include "core/model/prompts/boundary.h"
#include "core/model/prompts/describe.h"
#include "core/model/prompts/facts.h"
#include "core/model/prompts/topic.h"

enum { BYTES_A_TOKEN = 4, SYSTEM_TOKENS = 250, SCHEMA_TOKENS = 250 };

static const struct chat_prompt *const prompts[] = {
    &prompt_boundary, &prompt_describe, &prompt_topic, &prompt_facts, &prompt_answer,
};
enum { PROMPTS = sizeof prompts / sizeof prompts[0] };

static size_t tokens_of(const char *text)
{
    return text == NULL ? 0 : (strlen(text) + BYTES_A_TOKEN - 1) / BYTES_A_TOKEN;
}

START_TEST(they_are_short)
{
    bool show = getenv("HMTEST_SHOW") != NULL;
    for (size_t i = 0; i < PROMPTS; i++) {
        const struct chat_prompt *p = prompts[i];
        if (show)
            printf("%-9s v%u  system %3zu  schema %3zu  reply at most %u tokens\n", p->name,
                   p->version, tokens_of(p->system), tokens_of(p->schema), p->max_tokens);
        ck_assert_msg(tokens_of(p->system) <= SYSTEM_TOKENS, "%s: %zu", p->name,
                      tokens_of(p->system));
        ck_assert_msg(tokens_of(p->schema) <= SCHEMA_TOKENS, "%s: %zu", p->name,
                      tokens_of(p->schema));
        ck_assert(p->version >= 1 && p->max_tokens >= 100);
    }
}
END_TEST

START_TEST(they_say_what_must_be_said)
{
    for (size_t i = 0; i < PROMPTS; i++) {
        const struct chat_prompt *p = prompts[i];
        ck_assert_ptr_nonnull(strstr(p->system, "<<<KEY and KEY>>> is data"));
        ck_assert(p == &prompt_boundary || strstr(p->system, "language of the ") != NULL);
        /* json_object mode is refused by some where the word is not in the prompt. */
        ck_assert(p->schema == NULL || strstr(p->system, "JSON") != NULL);
        for (const char *c = p->system; *c != '\0'; c++)
            ck_assert((unsigned char)*c < 0x80 && (*c >= ' ' || *c == '\n'));
    }
    ck_assert_ptr_null(prompt_answer.schema);
}
END_TEST

/* Every member is a name that the system text explains. */
static void check_members(const struct chat_prompt *p, const json_t *schema)
{
    const json_t *members = json_object_get(schema, "properties");
    const json_t *required = json_object_get(schema, "required");
    ck_assert(json_is_false(json_object_get(schema, "additionalProperties")));
    ck_assert_uint_eq(json_object_size(schema), 4);
    ck_assert(json_object_size(members) != 0);
    ck_assert_uint_eq(json_object_size(members), json_array_size(required));
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        ck_assert_msg(json_object_get(members, name) != NULL, "%s: no %s", p->name, name);
        ck_assert_msg(strstr(p->system, name) != NULL, "%s: %s is not explained", p->name, name);
    }
}

static void check_schema(const struct chat_prompt *p, const json_t *root)
{
    const json_t *stack[64];
    size_t n = 0;
    stack[n++] = root;
    while (n != 0) {
        const json_t *schema = stack[--n];
        const char *type = json_string_value(json_object_get(schema, "type"));
        const char *name;
        json_t *member;
        ck_assert_ptr_nonnull(type);
        if (strcmp(type, "object") == 0) {
            check_members(p, schema);
            json_object_foreach(json_object_get(schema, "properties"), name, member) stack[n++] =
                member;
        } else if (strcmp(type, "array") == 0) {
            ck_assert_uint_eq(json_object_size(schema), 2);
            stack[n++] = json_object_get(schema, "items");
        } else {
            ck_assert(strcmp(type, "string") == 0 || strcmp(type, "number") == 0 ||
                      strcmp(type, "boolean") == 0);
            ck_assert(json_object_size(schema) == 1 ||
                      (json_object_size(schema) == 2 && json_object_get(schema, "enum") != NULL));
        }
    }
}

START_TEST(schemas_are_plain)
{
    for (size_t i = 0; i < PROMPTS; i++) {
        json_error_t fault;
        if (prompts[i]->schema == NULL)
            continue;
        json_t *root = json_loads(prompts[i]->schema, JSON_REJECT_DUPLICATES, &fault);
        ck_assert_msg(root != NULL, "%s: %s", prompts[i]->name, fault.text);
        ck_assert_str_eq(json_string_value(json_object_get(root, "type")), "object");
        check_schema(prompts[i], root);
        json_decref(root);
    }
}
END_TEST

Suite *suite_ask_prompts(void)
{
    Suite *suite = suite_create("ask_prompts");
    TCase *tc = tcase_create("ask_prompts");
    tcase_add_test(tc, they_are_short);
    tcase_add_test(tc, they_say_what_must_be_said);
    tcase_add_test(tc, schemas_are_plain);
    suite_add_tcase(suite, tc);
    return suite;
}
