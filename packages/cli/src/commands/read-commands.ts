import type { Command } from "./command.js";
import { defineReadCommand, maxObjectsOption } from "./define-read-command.js";

/** Options of the commands that list objects; states and sort orders differ. */
function listOptions<const S extends readonly string[], const O extends readonly string[]>(states: S, orders: O) {
  return {
    state: { type: "string", multiple: true, choices: states, help: "list only objects in this state" },
    failing: { type: "boolean", help: "list only objects that fail" },
    filter: {
      type: "string",
      placeholder: "text",
      help: "list only objects whose name, target, address or origin contains this text",
    },
    sort: {
      type: "string",
      choices: ["problems", "id", ...orders],
      help: "order of the list, numbers and times from the highest; default: problems, and id with --json",
    },
    group: { type: "boolean", help: "print one line for objects with the same target, name or peer, with counts" },
    limit: {
      type: "string",
      placeholder: "n",
      help: "print at most this many lines; 0 prints all; default: as many as fit on the terminal",
    },
    watch: { type: "boolean", help: "print again and again until Ctrl-C; with --json, one line each time" },
    interval: { type: "string", placeholder: "duration", help: "time between two reads of --watch; default: 2s" },
    ...maxObjectsOption,
  } as const;
}

/** Lists the top-level channels. */
export const channelsCommand: Command = defineReadCommand({
  name: "channels",
  summary: "list the channels (outgoing connections) of a process",
  options: listOptions(
    ["TRANSIENT_FAILURE", "CONNECTING", "READY", "IDLE", "SHUTDOWN", "UNKNOWN"],
    ["name", "target", "state", "calls", "failed", "last-call"],
  ),
  notes: [
    "A channel fails if it is in TRANSIENT_FAILURE, or connects again after a failure. The reason is the latest one in its traces.",
  ],
  read: async (task) => (await import("../read/channel-list.js")).readChannels(task),
});

/** Lists the servers. */
export const serversCommand: Command = defineReadCommand({
  name: "servers",
  summary: "list the servers of a process and their listen addresses",
  options: listOptions(["ACTIVE", "IDLE"], ["name", "address", "calls", "failed", "last-call"]),
  notes: ["A server is active while calls are in progress, and fails if a call failed."],
  read: async (task) => (await import("../read/server-list.js")).readServers(task),
});

/** Lists the sockets of servers and channels. */
export const socketsCommand: Command = defineReadCommand({
  name: "sockets",
  summary: "list the open connections and listening sockets of a process",
  options: {
    server: { type: "string", placeholder: "id", help: "list only the sockets of this server" },
    ...listOptions(
      ["LISTEN", "ACTIVE", "IDLE", "UNREADABLE"],
      ["role", "local", "remote", "streams", "failed", "messages"],
    ),
  },
  notes: ["A socket is active while streams are open on it, and fails if a stream failed or it cannot be read."],
  read: async (task) => (await import("../read/socket-list.js")).readSockets(task),
});

/** Shows all about one object. */
export const showCommand: Command = defineReadCommand({
  name: "show",
  summary: "show the details of a channel, subchannel, server or socket",
  parameters: ["<id>"],
  notes: [
    "Among several targets, 17@orders is the object 17 of the target orders; 17 alone is looked up in all of them.",
  ],
  options: {
    kind: {
      type: "string",
      choices: ["channel", "subchannel", "server", "socket"],
      help: "look up only this kind; some peers use the same id for several kinds",
    },
  },
  read: async (task) => (await import("../read/show.js")).readObject(task),
});

/** Draws channels with their descendants, and servers with their sockets. */
export const treeCommand: Command = defineReadCommand({
  name: "tree",
  summary: "show channels, subchannels, servers and sockets as a tree",
  options: {
    stitch: {
      type: "boolean",
      help: "with several targets, follow connections from the channels of one into the servers of the next",
    },
    ...maxObjectsOption,
  },
  read: async (task) =>
    task.values.stitch
      ? (await import("../read/stitched-tree.js")).readStitchedTree(task)
      : (await import("../read/tree.js")).readWholeTree(task),
});

/** Prints one screen about a process. */
export const summaryCommand: Command = defineReadCommand({
  name: "summary",
  summary: "summarize a process: counts by state, traffic, failures with reasons, certificates that expire",
  options: {
    "expires-within": {
      type: "string",
      placeholder: "days",
      help: "report certificates that expire within this many days; default: 30",
    },
    ...maxObjectsOption,
  },
  notes: ["Certificates are read from a few connections of each channel and server."],
  read: async (task) => (await import("../read/print-summary.js")).printSummary(task),
});

/** Finds objects by a string in them. */
export const findCommand: Command = defineReadCommand({
  name: "find",
  summary: "find the objects that mention a string, an address or a certificate",
  parameters: ["<text|address|certificate>"],
  options: maxObjectsOption,
  notes: [
    "Searches names, targets, addresses, traces, and the subject, names, issuer, serial number and fingerprints of certificates.",
    "A certificate file (.pem, .crt, .cer, .der) is looked up by its fingerprint. The exit code is 1 if nothing is found.",
  ],
  read: async (task) => (await import("../read/find.js")).findMentions(task),
});
