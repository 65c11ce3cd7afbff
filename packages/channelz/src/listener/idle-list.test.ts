import fc from "fast-check";
import { expect, test } from "vitest";
import { IdleList, type Listed } from "./idle-list.js";

class Guest implements Listed<Guest> {
  list: IdleList<Guest> | undefined;
  before: Guest | undefined;
  after: Guest | undefined;
}

const step = fc.record({ guest: fc.nat(7), list: fc.nat(1) });

test("behaves like two Sets, whatever is added to and removed from two lists", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const guests = Array.from({ length: 8 }, () => new Guest());
      const lists = [new IdleList<Guest>(), new IdleList<Guest>()] as const;
      const models = [new Set<Guest>(), new Set<Guest>()] as const;
      for (const { guest: number, list: which } of steps) {
        const guest = guests[number] as Guest;
        const [list, model] = [lists[which], models[which]] as [IdleList<Guest>, Set<Guest>];
        if (guest.list === undefined) {
          list.add(guest);
          model.add(guest);
        } else {
          list.delete(guest);
          model.delete(guest);
        }
        for (const at of [0, 1] as const) {
          expect([...lists[at]]).toEqual([...models[at]]);
          expect(lists[at].size).toBe(models[at].size);
          expect(lists[at].first).toBe([...models[at]][0]);
        }
      }
    }),
  );
});

test("allows an item to be removed before the iterator yields the next one", () => {
  const list = new IdleList<Guest>();
  const guests = Array.from({ length: 5 }, () => new Guest());
  for (const guest of guests) list.add(guest);
  const met: Guest[] = [];
  for (const guest of list) {
    met.push(guest);
    list.delete(guest);
  }
  expect(met).toEqual(guests);
  expect(list.size).toBe(0);
});

test("keeps no other item in memory through a removed one", () => {
  const list = new IdleList<Guest>();
  const guests = Array.from({ length: 3 }, () => new Guest());
  for (const guest of guests) list.add(guest);
  for (const guest of guests) list.delete(guest);
  for (const guest of guests) expect(Object.values(guest)).toEqual([undefined, undefined, undefined]);
});
