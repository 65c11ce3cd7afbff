import { clone, type DescMessage, type JsonObject, type MessageShape, toJson } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { base64Encode } from "@bufbuild/protobuf/wire";
import type { Any } from "@bufbuild/protobuf/wkt";
import { payloadRegistry } from "@wirescope/channelz/client";
import { correctionsOf } from "@wirescope/channelz/corrected";

const options = { registry: payloadRegistry, alwaysEmitImplicit: true };

/**
 * A message in proto3 JSON: lowerCamelCase names, 64-bit integers as strings, bytes in base64, times in RFC 3339, including zero and
 * empty fields. A payload of an unknown type is shown as its type and bytes; a time that RFC 3339 cannot express, such as after the
 * year 9999, is left out. `corrections` lists what was corrected in the message.
 */
export function messageToJson<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonObject {
  const converted = clone(schema, message);
  const payloads = extractUnconvertible(reflect(schema, converted), []);
  const json = toJson(schema, converted, options) as JsonObject;
  for (const { path, payload } of payloads) put(json, path, payload);
  const applied = correctionsOf(message);
  return applied.length === 0 ? json : { ...json, corrections: applied.map(({ id, detail }) => ({ id, detail })) };
}

type Path = readonly (string | number)[];

/** Removes from a message what would make the whole conversion fail, and returns what can be shown in another form. */
function extractUnconvertible(
  message: ReflectMessage,
  path: Path,
): { readonly path: Path; readonly payload: JsonObject }[] {
  return message.fields.flatMap((field) => {
    if (!message.isSet(field)) return [];
    const here = [...path, field.jsonName];
    if (field.fieldKind === "list" && field.listKind === "message") {
      return [...message.get(field)].flatMap((item, index) =>
        extractUnconvertible(item as ReflectMessage, [...here, index]),
      );
    }
    if (field.fieldKind !== "message") return [];
    const child = message.get(field);
    const { typeName } = child.desc;
    if (
      typeName !== "google.protobuf.Any" &&
      typeName !== "google.protobuf.Timestamp" &&
      typeName !== "google.protobuf.Duration"
    ) {
      return extractUnconvertible(child, here);
    }
    if (hasJson(child)) return [];
    message.clear(field);
    if (typeName !== "google.protobuf.Any") return [];
    const { typeUrl, value } = child.message as Any;
    return [{ path: here, payload: { "@type": typeUrl, value: base64Encode(value) } }];
  });
}

function hasJson(message: ReflectMessage): boolean {
  try {
    toJson(message.desc, message.message, options);
    return true;
  } catch {
    return false;
  }
}

function put(json: JsonObject, path: Path, value: JsonObject): void {
  let holder: Record<string | number, unknown> = json;
  for (const step of path.slice(0, -1)) holder = holder[step] as Record<string | number, unknown>;
  holder[path.at(-1) ?? ""] = value;
}
