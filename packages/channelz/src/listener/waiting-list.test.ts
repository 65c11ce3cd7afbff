import fc from "fast-check";
import { expect, test } from "vitest";
import { type Waiting, WaitingList } from "./waiting-list.js";

class Guest implements Waiting<Guest> {
  list: WaitingList<Guest> | undefined;
  before: Guest | undefined;
  after: Guest | undefined;
}

const step = fc.record({ guest: fc.nat(7), list: fc.nat(1) });

test("two lists that guests come to and leave are as two Sets would be", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const guests = Array.from({ length: 8 }, () => new Guest());
      const lists = [new WaitingList<Guest>(), new WaitingList<Guest>()] as const;
      const models = [new Set<Guest>(), new Set<Guest>()] as const;
      for (const { guest: number, list: which } of steps) {
        const guest = guests[number] as Guest;
        const [list, model] = [lists[which], models[which]] as [WaitingList<Guest>, Set<Guest>];
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

test("whoever is given may leave before the next is", () => {
  const list = new WaitingList<Guest>();
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

test("whoever has left holds nobody", () => {
  const list = new WaitingList<Guest>();
  const guests = Array.from({ length: 3 }, () => new Guest());
  for (const guest of guests) list.add(guest);
  for (const guest of guests) list.delete(guest);
  for (const guest of guests) expect(Object.values(guest)).toEqual([undefined, undefined, undefined]);
});
