import { type Command, defineReadCommand, limitOption } from "./command.js";

/** Lists the servers. */
export const serversCommand: Command = defineReadCommand({
  name: "servers",
  summary: "list the servers of a process and their listen addresses",
  options: limitOption,
  read: async (task) => (await import("../read/servers.js")).readServers(task),
});
