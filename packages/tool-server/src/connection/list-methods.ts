import type { Connection } from "./connection.js";

type Lists = Pick<Connection, "listTools" | "listResources" | "listResourceTemplates" | "listPrompts">;

/**
 * The lists of a server. Of what a server does not say that it has, the list is empty, and nothing is asked: the SDK would do the same,
 * but says so on standard output, which is not its own.
 */
export function listMethods(call: Connection["call"]): Lists {
  return {
    listTools: (options) =>
      call(
        "tools/list",
        async (client, request) =>
          client.getServerCapabilities()?.tools ? client.listTools(undefined, request) : { tools: [] },
        options,
      ),
    listResources: (options) =>
      call(
        "resources/list",
        async (client, request) =>
          client.getServerCapabilities()?.resources ? client.listResources(undefined, request) : { resources: [] },
        options,
      ),
    listResourceTemplates: (options) =>
      call(
        "resources/templates/list",
        async (client, request) =>
          client.getServerCapabilities()?.resources
            ? client.listResourceTemplates(undefined, request)
            : { resourceTemplates: [] },
        options,
      ),
    listPrompts: (options) =>
      call(
        "prompts/list",
        async (client, request) =>
          client.getServerCapabilities()?.prompts ? client.listPrompts(undefined, request) : { prompts: [] },
        options,
      ),
  };
}
