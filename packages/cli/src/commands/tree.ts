import { type Command, defineReadCommand, limitOption } from "./command.js";

/** Draws channels with all below them, and servers with their sockets. */
export const treeCommand: Command = defineReadCommand({
  name: "tree",
  summary: "draw channels, subchannels and sockets, and servers, as a tree",
  options: limitOption,
  read: async (task) => (await import("../read/tree.js")).readWholeTree(task),
});
