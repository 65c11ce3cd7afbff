import { type Command, defineReadCommand, limitOption } from "./command.js";

/** Lists the top channels. */
export const channelsCommand: Command = defineReadCommand({
  name: "channels",
  summary: "list the channels (outgoing connections) of a process",
  options: limitOption,
  read: async (task) => (await import("../read/channels.js")).readChannels(task),
});
