import { type Command, defineReadCommand, limitOption } from "./command.js";

/** Draws channels with all below them, and servers with their sockets. */
export const treeCommand: Command = defineReadCommand({
  name: "tree",
  summary: "show channels, subchannels, servers and sockets as a tree",
  options: limitOption,
  read: async (task) => (await import("../read/tree.js")).readWholeTree(task),
});
