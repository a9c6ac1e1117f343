#include "core/base/buf.h"

#include <check.h>
#include <stdlib.h>

START_TEST(bytes_are_appended)
{
    struct buf b;
    buf_init(&b, NULL, 1 << 20);
    ck_assert(str_eq(buf_str(&b), STR("")));
    buf_str_put(&b, STR("one"));
    buf_char(&b, ' ');
    buf_printf(&b, "%d-%s", 42, "x");
    buf_put(&b, NULL, 0);
    ck_assert(str_eq(buf_str(&b), STR("one 42-x")));
    for (int i = 0; i < 10000; i++)
        buf_char(&b, 'y');
    ck_assert(buf_ok(&b) && b.len == 10008);
    buf_clear(&b);
    ck_assert_uint_eq(b.len, 0);
    buf_fini(&b);
    ck_assert(!buf_ok(&b));
}
END_TEST

START_TEST(long_printf)
{
    struct buf b;
    char text[2000];
    memset(text, 'z', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    buf_init(&b, NULL, 1 << 20);
    buf_printf(&b, "<%s>", text);
    ck_assert(buf_ok(&b) && b.len == sizeof text + 1);
    ck_assert(b.at[0] == '<' && b.at[b.len - 1] == '>');
    buf_printf(&b, "%.511s", text); /* as long as the inner buffer takes */
    buf_printf(&b, "%.512s", text);
    ck_assert_uint_eq(b.len, sizeof text + 1 + 511 + 512);
    buf_fini(&b);
}
END_TEST

START_TEST(the_ceiling_holds_and_failure_stays)
{
    struct buf b;
    buf_init(&b, NULL, 10);
    buf_str_put(&b, STR("0123456789"));
    ck_assert(buf_ok(&b));
    buf_char(&b, 'x');
    ck_assert(!buf_ok(&b));
    ck_assert_ptr_null(buf_grow(&b, 0));
    ck_assert(str_eq(buf_str(&b), STR("0123456789")));
    size_t len = 9;
    ck_assert_ptr_null(buf_take_heap(&b, &len));
    ck_assert_uint_eq(len, 0);
    ck_assert(buf_ok(&b));
    buf_fini(&b);
}
END_TEST

START_TEST(heap_bytes_move_out)
{
    struct buf b;
    size_t len;
    buf_init(&b, NULL, 100);
    ck_assert_ptr_null(buf_take_heap(&b, &len));
    buf_str_put(&b, STR("moved"));
    char *bytes = buf_take_heap(&b, &len);
    ck_assert(str_eq((struct str){bytes, len}, STR("moved")));
    ck_assert_uint_eq(b.len, 0);
    free(bytes);
    buf_fini(&b);
}
END_TEST

START_TEST(in_an_arena)
{
    struct arena *arena = arena_new(1 << 20);
    struct buf b;
    buf_init(&b, arena, 1 << 16);
    for (int i = 0; i < 1000; i++)
        buf_str_put(&b, STR("abcdefg "));
    ck_assert(buf_ok(&b) && b.len == 8000);
    ck_assert(str_eq(str_part(buf_str(&b), 7992, 8000), STR("abcdefg ")));
    arena_fail_after(arena, 1);
    for (int i = 0; i < 1000; i++)
        buf_str_put(&b, STR("abcdefg "));
    ck_assert(!buf_ok(&b));
    buf_fini(&b);
    arena_free(arena);
}
END_TEST

START_TEST(integers_come_back)
{
    static const uint64_t values[] = {0,         1,          127,        128,       16383,
                                      16384,     UINT32_MAX, 1ull << 35, INT64_MAX, UINT64_MAX - 1,
                                      UINT64_MAX};
    struct buf b;
    buf_init(&b, NULL, 1 << 16);
    buf_u8(&b, 0xab);
    buf_u16(&b, 0x1234);
    buf_u32(&b, 0x12345678);
    buf_u64(&b, 0x123456789abcdef0);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        buf_varint(&b, values[i]);
    buf_lstr(&b, STR("nul\0in"));
    buf_lstr(&b, STR_NONE);
    ck_assert_uint_eq((uint8_t)b.at[1], 0x34); /* little-endian */
    struct unpack u = unpack_of(buf_str(&b));
    ck_assert_uint_eq(unpack_u8(&u), 0xab);
    ck_assert_uint_eq(unpack_u16(&u), 0x1234);
    ck_assert_uint_eq(unpack_u32(&u), 0x12345678);
    ck_assert_uint_eq(unpack_u64(&u), 0x123456789abcdef0);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        ck_assert_uint_eq(unpack_varint(&u), values[i]);
    ck_assert(str_eq(unpack_lstr(&u), STR("nul\0in")));
    ck_assert(!unpack_done(&u));
    ck_assert(str_eq(unpack_lstr(&u), STR("")));
    ck_assert(unpack_done(&u));
    buf_fini(&b);
}
END_TEST

START_TEST(varints_have_the_protocol_buffers_form)
{
    struct buf b;
    buf_init(&b, NULL, 100);
    buf_varint(&b, 300);
    ck_assert(str_eq(buf_str(&b), STR("\xac\x02")));
    buf_clear(&b);
    buf_varint(&b, UINT64_MAX);
    ck_assert_uint_eq(b.len, 10);
    buf_fini(&b);
}
END_TEST

START_TEST(reading_past_the_end_is_bad_and_stays_so)
{
    struct unpack u = unpack_of(STR("\x01\x02"));
    ck_assert_uint_eq(unpack_u32(&u), 0);
    ck_assert(u.bad);
    ck_assert_uint_eq(unpack_u8(&u), 0);
    ck_assert(!unpack_done(&u));
    u = unpack_of(STR("\x05"
                      "abc"));
    ck_assert(str_eq(unpack_lstr(&u), STR("")) && u.bad);
    u = unpack_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
    ck_assert_uint_eq(unpack_varint(&u), 0);
    ck_assert(u.bad);
    u = unpack_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01rest"));
    ck_assert(str_eq(unpack_lstr(&u), STR("")) && u.bad); /* a length no text can have */
    u = unpack_of(STR("\x80"));
    ck_assert_uint_eq(unpack_varint(&u), 0);
    ck_assert(u.bad);
    u = unpack_of(STR_NONE);
    ck_assert(u.bad);
    u = unpack_of(STR(""));
    ck_assert(unpack_done(&u));
    ck_assert_uint_eq(unpack_bytes(&u, 0).len, 0);
    ck_assert(!u.bad);
}
END_TEST

START_TEST(fixed_places)
{
    uint8_t bytes[9];
    le32_set(bytes + 1, 0x01020304);
    ck_assert_uint_eq(bytes[1], 4);
    ck_assert_uint_eq(le32_get(bytes + 1), 0x01020304);
    le64_set(bytes + 1, 0x0102030405060708);
    ck_assert_uint_eq(le64_get(bytes + 1), 0x0102030405060708);
    be32_set(bytes + 1, 0x01020304);
    ck_assert_uint_eq(bytes[1], 1);
    ck_assert_uint_eq(be32_get(bytes + 1), 0x01020304);
    be64_set(bytes + 1, 0x0102030405060708);
    ck_assert_uint_eq(bytes[8], 8);
    ck_assert_uint_eq(be64_get(bytes + 1), 0x0102030405060708);
}
END_TEST

Suite *suite_buf(void)
{
    Suite *suite = suite_create("buf");
    TCase *tc = tcase_create("buf");
    tcase_add_test(tc, bytes_are_appended);
    tcase_add_test(tc, long_printf);
    tcase_add_test(tc, the_ceiling_holds_and_failure_stays);
    tcase_add_test(tc, heap_bytes_move_out);
    tcase_add_test(tc, in_an_arena);
    tcase_add_test(tc, integers_come_back);
    tcase_add_test(tc, varints_have_the_protocol_buffers_form);
    tcase_add_test(tc, reading_past_the_end_is_bad_and_stays_so);
    tcase_add_test(tc, fixed_places);
    suite_add_tcase(suite, tc);
    return suite;
}
