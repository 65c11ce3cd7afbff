import { type Command, defineReadCommand } from "./command.js";

/** Shows all about one object. */
export const showCommand: Command = defineReadCommand({
  name: "show",
  summary: "show all about the object with this id, whatever its kind",
  parameters: ["<id>"],
  options: {
    kind: {
      type: "string",
      choices: ["channel", "subchannel", "server", "socket"],
      help: "look only for this kind; some peers give the same id to one of each",
    },
  },
  read: async (task) => (await import("../read/show.js")).readObject(task),
});
