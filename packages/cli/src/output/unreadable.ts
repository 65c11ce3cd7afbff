import { printableText } from "@wirescope/channelz/internal";

/** Says of an object that the peer fails to read that it exists, and why nothing more is shown. */
export function unreadableLine(kind: string, id: bigint, reason: Error): string {
  return `${kind} ${id} is unreadable: ${printableText(reason.message)}`;
}
