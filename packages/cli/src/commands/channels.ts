import { type Command, defineReadCommand, limitOption } from "./command.js";

/** Lists the top channels. */
export const channelsCommand: Command = defineReadCommand({
  name: "channels",
  summary: "list the channels that the application opened",
  options: limitOption,
  read: async (task) => (await import("../read/channels.js")).readChannels(task),
});
