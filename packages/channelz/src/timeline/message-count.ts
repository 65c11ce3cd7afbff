import type { DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** Up to this size, no message needs much memory when decoded. */
const harmlessBytes = 2 ** 18;
const maxDepth = 32;

/**
 * Whether encoded bytes decode to at most `max` messages and list items. An empty message needs two bytes encoded and a hundred in
 * memory, so the number of bytes is no limit. Counts without decoding. False also for malformed bytes.
 */
export function hasAtMostMessages(schema: DescMessage, bytes: Uint8Array, max: number): boolean {
  if (bytes.length <= harmlessBytes) return true;
  try {
    return countMessages(schema, bytes, max, 0) <= max;
  } catch {
    return false;
  }
}

function countMessages(schema: DescMessage, bytes: Uint8Array, max: number, depth: number): number {
  if (depth > maxDepth) return max + 1;
  const reader = new BinaryReader(bytes);
  let count = 1;
  while (reader.pos < reader.len && count <= max) {
    const [number, wireType] = reader.tag();
    const field =
      wireType === WireType.LengthDelimited ? schema.fields.find((each) => each.number === number) : undefined;
    if (field?.message !== undefined) count += countMessages(field.message, reader.bytes(), max - count, depth + 1);
    else if (field?.fieldKind === "list" && field.listKind === "scalar") count += reader.bytes().length;
    else {
      count += 1;
      reader.skip(wireType, number);
    }
  }
  return count;
}
