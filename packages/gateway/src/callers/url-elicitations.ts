import { RpcError, rpcCodes } from "@wirescope/tool-server/internal";

/** URL elicitations that were sent to a client or accepted by it. Only the server that sent one may report its completion. */
export interface UrlElicitations {
  /** Throws an RpcError if the id is too long, or if another server uses it. */
  add(id: string, server: string): void;
  remove(id: string): void;
  /** Removes it; returns whether it existed and belongs to the server. Without a server, it is the gateway's own, with a random id. */
  complete(id: string, server: string | undefined): boolean;
}

/** Beyond this number, the oldest are forgotten. */
const maxElicitations = 100;
/** In characters. */
const maxIdLength = 1024;

export function createUrlElicitations(): UrlElicitations {
  const servers = new Map<string, string>();
  return {
    add(id, server) {
      if (id.length > maxIdLength) {
        throw new RpcError(rpcCodes.invalidParams, `An elicitationId can have at most ${maxIdLength} characters.`);
      }
      const other = servers.get(id);
      if (other !== undefined && other !== server) {
        throw new RpcError(rpcCodes.invalidParams, "Another server uses this elicitationId. Use a random one.");
      }
      servers.set(id, server);
      const [oldest] = servers.keys();
      if (servers.size > maxElicitations && oldest !== undefined) servers.delete(oldest);
    },
    remove: (id) => void servers.delete(id),
    complete: (id, server) => (server === undefined || servers.get(id) === server) && servers.delete(id),
  };
}
