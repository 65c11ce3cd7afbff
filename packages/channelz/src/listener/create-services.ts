import type { DescFile } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { channelzPackages } from "../channelz-package.js";
import { file_grpc_health_v1_health } from "../gen/grpc/health/v1/health_pb.js";
import { channelzFile } from "../schema.js";
import { channelzRoutes } from "../service/connect-routes.js";
import { createGrpcUnary } from "../service/grpc-unary.js";
import type { Health } from "../service/health.js";
import { healthRoutes } from "../service/health-routes.js";
import { reflectionRoutes } from "../service/reflection.js";
import type { Source } from "../source.js";
import { createConnectHandler } from "./connect-handler.js";
import type { Services } from "./lazy-services.js";

/** Services in addition to Channelz, reflection and health. */
export interface MoreServices {
  readonly routes: (router: ConnectRouter) => void;
  /** Their schemas, for reflection. Default: none. */
  readonly files?: readonly DescFile[];
}

export interface ServicesOptions {
  readonly source: Source;
  readonly health: Health;
  readonly more: MoreServices | undefined;
  readonly maxMessageBytes: number;
  readonly onTooLarge: () => void;
  /** Ends the streams that clients hold open. */
  readonly signal: AbortSignal;
}

/** Creates the services of a listener: Channelz in both its packages, health, reflection, and those of the application. */
export function createServices(options: ServicesOptions): Services {
  const { source, health, more, maxMessageBytes, onTooLarge, signal } = options;
  const files = [...channelzPackages.map(channelzFile), file_grpc_health_v1_health, ...(more?.files ?? [])];
  return {
    grpcUnary: createGrpcUnary(source, { maxMessageBytes, onTooLarge }),
    connect: createConnectHandler((router) => {
      channelzRoutes(source)(router);
      healthRoutes(health)(router);
      reflectionRoutes(files, { signal })(router);
      more?.routes(router);
    }, maxMessageBytes),
  };
}
