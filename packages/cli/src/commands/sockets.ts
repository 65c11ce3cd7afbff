import { type Command, defineReadCommand, limitOption } from "./command.js";

/** Lists the sockets of servers and channels. */
export const socketsCommand: Command = defineReadCommand({
  name: "sockets",
  summary: "list the open connections and listening sockets of a process",
  options: {
    server: { type: "string", placeholder: "id", help: "list only the sockets of this server" },
    ...limitOption,
  },
  read: async (task) => (await import("../read/sockets.js")).readSockets(task),
});
