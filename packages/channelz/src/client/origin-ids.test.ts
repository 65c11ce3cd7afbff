import { describe, expect, test } from "vitest";
import { createOriginIds } from "./origin-ids.js";

const names = Array.from({ length: 1000 }, (_, n) => `10.0.${n >> 8}.${n & 255}:50051`);

describe("[CZ-D-CLI-1] merged ids", () => {
  test("[CZ-D-CLI-1] give back the origin and the id that they were made of, and fit into a positive int64", () => {
    const ids = createOriginIds(names);
    for (const origin of names) {
      for (const id of [1n, 17n, 10n ** 12n - 1n]) {
        const merged = ids.encode(origin, id) ?? 0n;
        expect(merged).toBeGreaterThan(0n);
        expect(merged).toBeLessThan(2n ** 63n);
        expect(ids.decode(merged)).toEqual({ origin, id });
      }
    }
  });

  test("[CZ-D-CLI-1] stay the same when other origins are added, removed or reordered", () => {
    const all = createOriginIds(names.slice(0, 200));
    const fewer = createOriginIds(names.slice(50, 150).reverse());
    for (const origin of names.slice(50, 150)) expect(fewer.encode(origin, 7n)).toBe(all.encode(origin, 7n));
  });

  test("end with the digits of the id at its process", () => {
    expect(String(createOriginIds(["a:1"]).encode("a:1", 4711n))).toMatch(/^\d{1,7}000000004711$/);
  });

  test("[CZ-D-CLI-1] give the later of two names with the same number the next free one, whatever their order", () => {
    const [first, second] = collidingNames();
    for (const given of [
      [first, second],
      [second, first],
    ]) {
      const ids = createOriginIds(given);
      expect(ids.encode(first, 1n)).toBe(createOriginIds([first]).encode(first, 1n));
      expect(ids.encode(second, 1n)).toBe((ids.encode(first, 1n) ?? 0n) + 10n ** 12n);
      for (const origin of given) expect(ids.decode(ids.encode(origin, 1n) ?? 0n)).toEqual({ origin, id: 1n });
      expect(ids.origins).toEqual([first, second]);
    }
  });

  test("[CZ-D-CLI-1] continue with number 1 after 9,000,000", () => {
    // Found by search: each has the last number.
    const ids = createOriginIds(["host-23991619", "host-39134069"]);
    expect(ids.encode("host-23991619", 1n)).toBe(9_000_000n * 10n ** 12n + 1n);
    expect(ids.encode("host-39134069", 1n)).toBe(10n ** 12n + 1n);
  });

  test("name the origins in the order of their ids", () => {
    const { origins, encode } = createOriginIds(names);
    const firstIds = origins.map((origin) => encode(origin, 1n) ?? 0n);
    expect(firstIds).toHaveLength(names.length);
    for (const [index, id] of firstIds.slice(1).entries()) expect(id).toBeGreaterThan(firstIds[index] ?? 0n);
  });

  test("leave out ids that are not positive or too large, and know no other origins", () => {
    const ids = createOriginIds(["a:1"]);
    for (const id of [0n, -1n, 10n ** 12n, 2n ** 63n - 1n]) expect(ids.encode("a:1", id)).toBeUndefined();
    expect(ids.encode("b:1", 1n)).toBeUndefined();
    for (const id of [0n, 5n, -5n, 2n ** 63n - 1n]) expect(ids.decode(id)).toBeUndefined();
  });
});

/** Two names with the same number, in alphabetical order. */
function collidingNames(): [string, string] {
  const seen = new Map<bigint, string>();
  for (let n = 0; ; n += 1) {
    const name = `host-${n}`;
    const id = createOriginIds([name]).encode(name, 1n) ?? 0n;
    const earlier = seen.get(id);
    if (earlier !== undefined) return earlier < name ? [earlier, name] : [name, earlier];
    seen.set(id, name);
  }
}
