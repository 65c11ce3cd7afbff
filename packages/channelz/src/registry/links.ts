import { ChannelzError } from "../errors.js";
import { OrderedTable } from "./ordered-table.js";
import { ChannelRecord, nameRecord, type SocketRecord } from "./records.js";

// A parent has channels and subchannels, or sockets, never both, and the graph has no cycles: a link that would violate this throws.

/** Links a channel or subchannel under a parent; it may have several. False if it was already linked. */
export function linkChannel(parent: ChannelRecord, child: ChannelRecord): boolean {
  checkLive(parent, child);
  if (parent.sockets !== undefined && parent.sockets.size > 0) {
    throw mixedChildren(parent, child, "sockets", "channels or subchannels");
  }
  if (reaches(child, parent)) {
    throw new ChannelzError(
      "LINK_CYCLE",
      `Cannot put ${nameRecord(child)} under ${nameRecord(parent)}: ` +
        `${child === parent ? "an object cannot be its own child" : `${nameRecord(parent)} is already below it`}. ` +
        "The channel graph must not have cycles; unlink the other direction first.",
    );
  }
  const known = childTable(parent, child.kind);
  if (known?.get(child.id) !== undefined) return false;
  const table = known ?? new OrderedTable<ChannelRecord>();
  if (child.kind === "channel") parent.channels = table;
  else parent.subchannels = table;
  table.add(child);
  child.parents.push(parent);
  return true;
}

/** Links a socket under a parent, its only owner. */
export function linkSocket(parent: ChannelRecord, child: SocketRecord): void {
  checkLive(parent, child);
  if ((parent.channels?.size ?? 0) > 0 || (parent.subchannels?.size ?? 0) > 0) {
    throw mixedChildren(parent, child, "channels or subchannels", "sockets");
  }
  if (child.owner === parent) return;
  if (child.owner) {
    throw new ChannelzError(
      "LINK_REFUSED",
      `Cannot put ${nameRecord(child)} under ${nameRecord(parent)}: it belongs to ${nameRecord(child.owner)}. ` +
        "A socket has one owner; unlink it there first.",
    );
  }
  parent.sockets ??= new OrderedTable<SocketRecord>();
  parent.sockets.add(child);
  child.owner = parent;
}

/** Unlinks a child from a parent; false if it was not linked. */
export function unlinkRecords(parent: ChannelRecord, child: ChannelRecord | SocketRecord): boolean {
  if (child instanceof ChannelRecord) {
    if (childTable(parent, child.kind)?.delete(child.id) !== true) return false;
    child.parents.splice(child.parents.indexOf(parent), 1);
    return true;
  }
  if (parent.sockets?.delete(child.id) !== true) return false;
  child.owner = undefined;
  return true;
}

/** The channels and subchannels directly below. */
export function* childChannels(parent: ChannelRecord): IterableIterator<ChannelRecord> {
  if (parent.channels !== undefined) yield* parent.channels;
  if (parent.subchannels !== undefined) yield* parent.subchannels;
}

function checkLive(parent: ChannelRecord, child: ChannelRecord | SocketRecord): void {
  for (const record of [parent, child]) {
    if (record.lifecycle === "live") continue;
    throw new ChannelzError(
      "LINK_REFUSED",
      `Cannot put ${nameRecord(child)} under ${nameRecord(parent)}: ${nameRecord(record)} is closed. Link objects before they close.`,
    );
  }
}

function childTable(parent: ChannelRecord, kind: "channel" | "subchannel"): OrderedTable<ChannelRecord> | undefined {
  return kind === "channel" ? parent.channels : parent.subchannels;
}

function mixedChildren(
  parent: ChannelRecord,
  child: ChannelRecord | SocketRecord,
  has: string,
  gets: string,
): ChannelzError {
  return new ChannelzError(
    "LINK_MIXED_CHILDREN",
    `Cannot put ${nameRecord(child)} under ${nameRecord(parent)}: it has ${has}, and so cannot have ${gets}. ` +
      "Put a subchannel between them.",
  );
}

/** Whether `sought` is `from` or a descendant of it. */
function reaches(from: ChannelRecord, sought: ChannelRecord): boolean {
  if (from.channels === undefined && from.subchannels === undefined) return from === sought;
  const seen = new Set([from]);
  for (const record of seen) {
    if (record === sought) return true;
    for (const child of childChannels(record)) seen.add(child);
  }
  return false;
}
