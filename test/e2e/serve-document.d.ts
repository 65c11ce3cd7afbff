declare module "*/deploy/client-metadata/serve.mjs" {
  import type { Server } from "node:http";

  export function createDocumentServer(address: string): Server;
}
