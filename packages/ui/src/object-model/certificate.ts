import { printableText } from "@wirescope/channelz/internal/text";
import type * as Asn1 from "asn1js";
import type { Tone } from "../design/state-mark.js";

/** The fields of a certificate that the page shows. */
export interface Certificate {
  readonly subject: string;
  readonly issuer: string;
  /** The host names, addresses and URIs that it is valid for. */
  readonly names: readonly string[];
  readonly serial: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const soonMs = 14 * 24 * 3_600_000;

/** Whether a certificate is valid at a time. */
export function validityOf(
  { notBeforeMs, notAfterMs }: Pick<Certificate, "notBeforeMs" | "notAfterMs">,
  nowMs: number,
): readonly [Tone, string] {
  if (notAfterMs < nowMs) return ["failing", "expired"];
  if (notBeforeMs > nowMs) return ["failing", "not valid yet"];
  return notAfterMs - nowMs < soonMs ? ["waiting", "expires soon"] : ["ready", "valid"];
}

/** Above this size it is not a certificate that a connection used. */
const maxBytes = 65_536;
const maxNames = 100;

/** Reads an X.509 certificate: DER as it should be, or PEM as some peers send it. Undefined if it is neither. */
export async function readCertificate(bytes: Uint8Array): Promise<Certificate | undefined> {
  if (bytes.length === 0 || bytes.length > maxBytes) return undefined;
  // The parser is loaded with the first certificate: most sockets have none.
  const asn1 = await import("asn1js");
  try {
    return parse(asn1, fromPem(bytes) ?? bytes);
  } catch {
    return undefined;
  }
}

type Block = Asn1.AsnType;

function parse(asn1: typeof Asn1, der: Uint8Array): Certificate | undefined {
  // A copy, because the parser reads the whole underlying buffer of a view.
  const { result, offset } = asn1.fromBER(new Uint8Array(der));
  if (offset === -1) return undefined;
  const fields = itemsOf(itemsOf(result)[0]);
  // The version is optional, and the only field before the serial number that has an explicit tag.
  const first = fields[0]?.idBlock.tagClass === 3 ? 1 : 0;
  const [serial, , issuer, validity, subject] = fields.slice(first);
  const [notBefore, notAfter] = itemsOf(validity).map((time) => dateOf(asn1, time));
  if (!(serial instanceof asn1.Integer) || notBefore === undefined || notAfter === undefined) return undefined;
  const names = alternativeNames(asn1, fields);
  return {
    subject: nameOf(asn1, subject) || names[0] || "",
    issuer: nameOf(asn1, issuer),
    names,
    serial: hex(serial.valueBlock.valueHexView, ":"),
    notBeforeMs: notBefore,
    notAfterMs: notAfter,
  };
}

function itemsOf(block: Block | undefined): readonly Block[] {
  const value = (block?.valueBlock as { readonly value?: unknown } | undefined)?.value;
  return Array.isArray(value) ? value : [];
}

function dateOf(asn1: typeof Asn1, block: Block): number | undefined {
  if (!(block instanceof asn1.UTCTime || block instanceof asn1.GeneralizedTime)) return undefined;
  const ms = block.toDate().getTime();
  return Number.isNaN(ms) ? undefined : ms;
}

const attributeNames: Readonly<Record<string, string>> = {
  "2.5.4.3": "CN",
  "2.5.4.6": "C",
  "2.5.4.7": "L",
  "2.5.4.8": "ST",
  "2.5.4.10": "O",
  "2.5.4.11": "OU",
};

/** A distinguished name in one line: `CN=localhost, O=Example`. */
function nameOf(asn1: typeof Asn1, block: Block | undefined): string {
  const attributes = itemsOf(block).flatMap((set) => itemsOf(set));
  const parts = attributes.map((attribute) => {
    const [type, value] = itemsOf(attribute);
    const oid = type instanceof asn1.ObjectIdentifier ? type.getValue() : "?";
    return `${attributeNames[oid] ?? oid}=${value instanceof asn1.BaseStringBlock ? value.getValue() : "?"}`;
  });
  return printableText(parts.join(", "), 400);
}

function alternativeNames(asn1: typeof Asn1, fields: readonly Block[]): string[] {
  const extensions = fields.find(({ idBlock }) => idBlock.tagClass === 3 && idBlock.tagNumber === 3);
  for (const extension of itemsOf(itemsOf(extensions)[0])) {
    const parts = itemsOf(extension);
    const content = parts.at(-1);
    if (!(parts[0] instanceof asn1.ObjectIdentifier) || parts[0].getValue() !== "2.5.29.17") continue;
    if (!(content instanceof asn1.OctetString)) continue;
    const { result, offset } = asn1.fromBER(new Uint8Array(content.valueBlock.valueHexView));
    if (offset === -1) continue;
    return itemsOf(result).slice(0, maxNames).flatMap(alternativeName);
  }
  return [];
}

function alternativeName(block: Block): string[] {
  const bytes = (block.valueBlock as { readonly valueHexView?: Uint8Array }).valueHexView ?? new Uint8Array();
  switch (block.idBlock.tagNumber) {
    // An e-mail address, a host name, a URI.
    case 1:
    case 2:
    case 6:
      return [printableText(new TextDecoder().decode(bytes), 200)];
    case 7:
      return [bytes.length === 4 ? bytes.join(".") : hex(bytes, ":", 2)];
    default:
      return [];
  }
}

function hex(bytes: Uint8Array, separator: string, group = 1): string {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.match(new RegExp(`.{1,${group * 2}}`, "g"))?.join(separator) ?? "";
}

function fromPem(bytes: Uint8Array): Uint8Array | undefined {
  const text = new TextDecoder("latin1").decode(bytes);
  const body = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END/.exec(text)?.[1];
  return body === undefined ? undefined : Uint8Array.from(atob(body.replace(/\s+/g, "")), (each) => each.charCodeAt(0));
}
