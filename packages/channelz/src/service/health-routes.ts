import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import {
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus,
  Health as HealthService,
} from "../gen/grpc/health/v1/health_pb.js";
import type { Health } from "./health.js";

/** Serves `grpc.health.v1`: Check returns NOT_FOUND for an unknown service, Watch emits SERVICE_UNKNOWN and continues. */
export function healthRoutes(health: Health): (router: ConnectRouter) => void {
  return (router) => {
    router.service(HealthService, {
      check({ service }: HealthCheckRequest) {
        const status = health.get(service);
        if (status === undefined) throw new ConnectError(`The service "${service}" is unknown.`, Code.NotFound);
        return { status: HealthCheckResponse_ServingStatus[status] };
      },
      list: () => ({
        statuses: Object.fromEntries(
          [...health.list()].map(([service, status]) => [
            service,
            { status: HealthCheckResponse_ServingStatus[status] },
          ]),
        ),
      }),
      async *watch({ service }: HealthCheckRequest, context: HandlerContext) {
        try {
          for await (const status of health.watch(service, context.signal)) {
            yield { status: HealthCheckResponse_ServingStatus[status ?? "SERVICE_UNKNOWN"] };
          }
        } catch (error) {
          if (error instanceof RangeError) throw new ConnectError(error.message, Code.ResourceExhausted);
          throw error;
        }
      },
    });
  };
}
