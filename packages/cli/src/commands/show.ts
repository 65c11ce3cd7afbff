import { type Command, defineReadCommand } from "./command.js";

/** Shows all about one object. */
export const showCommand: Command = defineReadCommand({
  name: "show",
  summary: "show the details of a channel, subchannel, server or socket",
  parameters: ["<id>"],
  options: {
    kind: {
      type: "string",
      choices: ["channel", "subchannel", "server", "socket"],
      help: "look up only this kind; some peers use the same id for several kinds",
    },
  },
  read: async (task) => (await import("../read/show.js")).readObject(task),
});
