/** An object of one origin: the process it belongs to, and its id there. */
export interface OriginId {
  readonly origin: string;
  readonly id: bigint;
}

/** Converts between the ids of several processes and ids that are unique among all of them. */
export interface OriginIds {
  /** The origins in the order of their merged ids. */
  readonly origins: readonly string[];
  /** The merged id of an object; undefined if its own id is not positive or has more than 12 digits. */
  encode(origin: string, id: bigint): bigint | undefined;
  /** The origin and the own id of a merged id; undefined if it belongs to no origin. */
  decode(mergedId: bigint): OriginId | undefined;
}

// The last twelve decimal digits are the id of the peer, so a person can read it. A process that creates a million objects a
// second takes eleven days to exceed it.
const idsPerOrigin = 10n ** 12n;

/** The highest id of a process that can be merged. */
export const highestOwnId: bigint = idsPerOrigin - 1n;

// With the factor above, the highest merged id still fits into a positive int64.
const slotCount = 9_000_000;

/**
 * Merged ids for these origins: a number from 1 to 9,000,000 that follows from the name of the origin, then twelve digits with the id
 * of the object there. An id therefore stays the same when other origins are added, removed or reordered. The only exception: of
 * two names with the same number, the later one in alphabetical order gets the next free number.
 */
export function createOriginIds(names: Iterable<string>): OriginIds {
  const slots = new Map<string, bigint>();
  const taken = new Map<bigint, string>();
  for (const name of [...new Set(names)].sort()) {
    let slot = hash(name) % slotCount;
    while (taken.has(BigInt(slot + 1))) slot = (slot + 1) % slotCount;
    slots.set(name, BigInt(slot + 1));
    taken.set(BigInt(slot + 1), name);
  }
  const origins = [...slots].sort(([, a], [, b]) => Number(a - b)).map(([name]) => name);
  return {
    origins,
    encode(origin, id) {
      const slot = slots.get(origin);
      return slot === undefined || id < 1n || id > highestOwnId ? undefined : slot * idsPerOrigin + id;
    },
    decode(mergedId) {
      const origin = taken.get(mergedId / idsPerOrigin);
      return origin === undefined ? undefined : { origin, id: mergedId % idsPerOrigin };
    },
  };
}

/** FNV-1a with a final mix of the bits: short, the same everywhere, and needs no Node module. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
