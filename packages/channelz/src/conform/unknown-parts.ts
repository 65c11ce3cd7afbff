import type { Message } from "@bufbuild/protobuf";

/** The parts of a message that the schema does not define. */
export interface UnknownParts {
  /** Tags of refs that are reserved. */
  readonly reserved: readonly string[];
  /** Other fields, and values of enums. */
  readonly unknown: readonly string[];
}

// The public package gained these in January 2026; the specification allows a schema to grow.
const laterFields: Readonly<Record<string, readonly number[]>> = {
  "rpc.channelz.v1.ChannelData": [8],
  "rpc.channelz.v1.SocketData": [14, 15],
};

const enumFields: readonly { readonly typeName: string; readonly field: string; readonly highest: number }[] = [
  { typeName: "rpc.channelz.v1.ChannelConnectivityState", field: "state", highest: 5 },
  { typeName: "rpc.channelz.v1.ChannelTraceEvent", field: "severity", highest: 3 },
];

const maxDepth = 16;
const maxFound = 20;

/** Finds fields and enum values that the schema lacks, in a message and all below it. */
export function unknownPartsOf(message: Message): UnknownParts {
  const reserved: string[] = [];
  const unknown: string[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (depth > maxDepth || reserved.length + unknown.length > maxFound) return;
    if (Array.isArray(value)) {
      for (const item of value) visit(item, depth + 1);
      return;
    }
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
    if ("$typeName" in value) inspect(value as Message & Record<string, unknown>);
    for (const member of Object.values(value)) visit(member, depth + 1);
  };
  const inspect = (part: Message & Record<string, unknown>): void => {
    const name = part.$typeName.replace("rpc.channelz.v1.", "");
    for (const { no } of part.$unknown ?? []) {
      if (laterFields[part.$typeName]?.includes(no)) continue;
      if (/^(Channel|Subchannel|Server|Socket)Ref$/.test(name) && no <= 8) reserved.push(`${name} uses the tag ${no}`);
      else unknown.push(`${name} has a field with the tag ${no}`);
    }
    for (const { typeName, field, highest } of enumFields) {
      const number = part[field];
      if (part.$typeName === typeName && typeof number === "number" && (number < 0 || number > highest)) {
        unknown.push(`${name} has the ${field} ${number}`);
      }
    }
  };
  visit(message, 0);
  return { reserved, unknown };
}
