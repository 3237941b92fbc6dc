/** Written by `npm run build:docs` from the description of the API. */

export interface paths {
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List runs, the newest first
         * @description A page may have fewer runs than the limit, or none, and a next one: it looks at 10000 runs at most.
         */
        get: operations["listRuns"];
        put?: never;
        /**
         * Start a run
         * @description Without a placement: on step queues where the flow is compiled in the database, else on a runner. A start with a pool is for runners.
         */
        post: operations["startRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a run with its steps */
        get: operations["getRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how far a run is, for whoever asks again and again
         * @description Reads no input and no output. Whoever can hold a connection open is better served by the events of the run, or by `/api/live`.
         */
        get: operations["getRunStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what happened to a run, or follow it
         * @description With `Accept: text/event-stream` the answer is a stream: what there is, then what comes, and `event: end` when the run has ended. It goes on behind `Last-Event-ID`. Of a run on step queues the events are read off its tables, which keep the last attempt of each task.
         */
        get: operations["listRunEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a run
         * @description What has completed stays; nothing else begins, and a late report changes nothing.
         */
        post: operations["cancelRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a failed or cancelled run again where it stopped */
        post: operations["retryRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/input": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the input of a run, however large */
        get: operations["getRunInput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the output of a run, however large */
        get: operations["getRunOutput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/steps/{step}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show the output of a step, or of one task of it, however large */
        get: operations["getStepOutput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/steps/{step}/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tasks of a step with their attempts, by index */
        get: operations["listTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel some runs */
        post: operations["cancelRuns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start some failed or cancelled runs again where they stopped */
        post: operations["retryRuns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/waits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List open waits, the oldest first */
        get: operations["listWaits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/waits/{step}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume a wait of a run of the workspace */
        post: operations["resumeWait"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/waits/{step}/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issue a token for whoever is to decide
         * @description With it anybody may resume this wait, and do nothing else. It may be issued before the wait opens, as often as needed; whichever of them comes first counts.
         */
        post: operations["issueWaitToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/waits/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume the wait that a token is for
         * @description The token is the right to do so; nothing else is asked. It stands in the body, so that no log of a proxy has it. Tokens that are not genuine are slowed down, as those of the API are.
         */
        post: operations["resumeWithToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver to a webhook that starflow.yaml declares
         * @description The signature is the right to do so. The same delivery again starts nothing, and is answered with the run of the first one. The body is JSON or a form, whatever the sender of the scheme sends.
         */
        post: operations["receiveWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/flows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the flows with their steps, versions and schedules */
        get: operations["listFlows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/flows/{flow}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give out no work of a flow from its step queues
         * @description What has begun is finished, and runs can be started: their work waits. Twice is fine.
         */
        post: operations["pauseFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/flows/{flow}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give out the work of a flow again */
        post: operations["resumeFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the queues with their depth, age and workers */
        get: operations["listQueues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/{queue}/samples": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the history of a queue, minute by minute
         * @description Samples are kept for 7 days and put together to about 500 points: each has the largest depth, the oldest age and the fewest workers of its stretch.
         */
        get: operations["showQueueHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/coverage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the routes of flows beside the workers that serve them */
        get: operations["listCoverage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the workers of step queues, the youngest first */
        get: operations["listWorkers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/functions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the worker functions with their fence, their starts and what they do */
        get: operations["listFunctions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/functions/{function}/fence": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Disable a worker function, and remember what it was */
        post: operations["fenceFunction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/functions/{function}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lift the fence of a worker function
         * @description It is enabled or disabled again as the fence found it. Twice is fine. The fence of a rollout or deploy that is at work is lifted by force only.
         */
        post: operations["restoreFunction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runners": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the runners that were heard of within the last day */
        get: operations["listRunners"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/leases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the runs that runners hold, the one whose lease is over first at the top */
        get: operations["listLeases"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runners/unserved": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List queued runs that no live runner serves, the oldest first */
        get: operations["listUnservedRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how all is: runs per minute, queues in trouble, workers, lag, and open runs without a next actor
         * @description Runs and waits are those of the workspace. Queues, workers, runners and the outbox serve all workspaces: only the operator is shown them.
         */
        get: operations["showOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/peers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what the runs of the workspace are doing right now, the last changed first */
        get: operations["listPeers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{runId}/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show what a run on a runner is doing right now, with the progress of its steps */
        get: operations["showLiveRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/mirror": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show how far the warm tier is behind, and what it refused */
        get: operations["showMirror"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tell what kind of thing has changed, as it changes
         * @description A stream of events, never data: `hint` with one of runs, queues, workers, functions, waits, flows, runners, and `run` with the id of a run that is watched. It begins with a hint of every kind, so that whoever comes back has missed nothing. A hint may come without a change that the caller can see. Browsers cannot send a header with it: the operator's token stands for every workspace here.
         */
        get: operations["followChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker-jobs/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take the oldest job of some kinds, or wait for one */
        post: operations["claimWorkerJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker-jobs/{jobId}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say that the worker is still at it */
        post: operations["heartbeatWorkerJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker-jobs/{jobId}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report the result of a job
         * @description May be repeated: the first result stays.
         */
        post: operations["completeWorkerJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker-jobs/{jobId}/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report that a job could not be done
         * @description The attempt of the step fails; its retries decide what follows.
         */
        post: operations["failWorkerJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show who is signed in */
        get: operations["getSession"];
        put?: never;
        /**
         * Sign in with a token
         * @description Sets a cookie that scripts cannot read and that other sites cannot send. With it, requests that change something need the header `Starflow-Request: 1`.
         */
        post: operations["signIn"];
        /**
         * Sign out
         * @description Ends the sign-in of the cookie that the request carries, in every copy of it and at every edge.
         */
        delete: operations["signOut"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in with the code of a link
         * @description Whoever starts a server on their own computer finds such a link in their terminal. A code is good once, for ten minutes, at the process that gave it, and signs the operator in.
         */
        post: operations["redeemSignInLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Say what this process is */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Say whether to send this process requests */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tell the figures of this process and of its database, in the text format of Prometheus
         * @description docs/operations/metrics.md explains each.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Describe this API, as OpenAPI 3.1 */
        get: operations["describe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Error: {
            error: {
                /** @description The error code; docs/errors has a page for each. */
                code: string;
                name: string;
                /** @description What failed, in one sentence. */
                message: string;
                /** @description The facts behind it. */
                detail?: string;
                /** @description The way out. */
                hint?: string;
                /** @description Finds the request in the log of the server. */
                requestId: string;
            };
        };
        /** @description Any JSON. */
        Json: unknown;
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listRuns: {
        parameters: {
            query?: {
                flow?: string;
                /** @description One or several of queued, running, paused, success, error, cancelled, with commas between. */
                status?: string;
                /** @description The beginning of a run id (8 digits or more), or a part of flow slug or error. */
                q?: string;
                /** @description Made at this instant or later. */
                from?: string;
                /** @description Made before this instant. */
                to?: string;
                env?: string;
                /** @description queue: step queues and their workers. runner: as a whole on a runner. */
                placement?: "queue" | "runner";
                /** @description What the last page gave as next. */
                cursor?: string;
                /** @description How many at most; 50 unless it says otherwise, 500 at most. */
                limit?: string;
            };
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of runs. `next` is null on the last one. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        runs: {
                            /**
                             * Format: uuid
                             * @description The id of the run.
                             */
                            runId: string;
                            flow: string;
                            /**
                             * @description queue: step queues and their workers. runner: as a whole on a runner.
                             * @enum {string}
                             */
                            placement: "queue" | "runner";
                            /** @description Null: it was started in SQL and belongs to none. */
                            workspace: string | null;
                            env: string | null;
                            /** @enum {string} */
                            status: "queued" | "running" | "paused" | "success" | "error" | "cancelled";
                            /** @description Only runners of this pool claim it; null: any runner. */
                            pool: string | null;
                            /** @description Whether a runner has it, or may take it; a resumed run is paused and queued. Null: it is on step queues. */
                            claimState: ("queued" | "claimed" | "running" | "paused" | "complete" | "failed" | "abandoned") | null;
                            /** @description The runner that holds it. */
                            leasedBy: string | null;
                            /** Format: date-time */
                            createdAt: string;
                            startedAt: string | null;
                            endedAt: string | null;
                            error: string | null;
                        }[];
                        next: string | null;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    startRun: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The slug of the flow. */
                    flow: string;
                    /**
                     * @description What the run starts with.
                     * @default {}
                     */
                    input?: components["schemas"]["Json"];
                    /**
                     * @description queue: step queues and their workers. runner: as a whole on a runner.
                     * @enum {string}
                     */
                    placement?: "queue" | "runner";
                    /**
                     * @description The environment that the run is counted to.
                     * @default prod
                     */
                    env?: string;
                    /** @description The same key again in this workspace and environment gives the run that it started. */
                    idempotencyKey?: string;
                    /**
                     * @description Nothing of the run begins before this has passed.
                     * @default 0
                     */
                    delayMs?: number;
                    /** @description Only runners of this pool claim the run. */
                    pool?: string;
                };
            };
        };
        responses: {
            /** @description The idempotency key had started it before. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @description The id of the run.
                         */
                        runId: string;
                        flow: string;
                        /**
                         * @description queue: step queues and their workers. runner: as a whole on a runner.
                         * @enum {string}
                         */
                        placement: "queue" | "runner";
                        /** @description Null: it was started in SQL and belongs to none. */
                        workspace: string | null;
                        env: string | null;
                        /** @enum {string} */
                        status: "queued" | "running" | "paused" | "success" | "error" | "cancelled";
                        /** @description Only runners of this pool claim it; null: any runner. */
                        pool: string | null;
                        /** @description Whether a runner has it, or may take it; a resumed run is paused and queued. Null: it is on step queues. */
                        claimState: ("queued" | "claimed" | "running" | "paused" | "complete" | "failed" | "abandoned") | null;
                        /** @description The runner that holds it. */
                        leasedBy: string | null;
                        /** Format: date-time */
                        createdAt: string;
                        startedAt: string | null;
                        endedAt: string | null;
                        error: string | null;
                        /** @description Null where it is larger than 65536 bytes: then GET /api/runs/{runId}/input has it. */
                        input: components["schemas"]["Json"];
                        /** @description As JSON text; of a large value about so many. */
                        inputBytes: number;
                        /** @description Null where it is larger than 65536 bytes: then GET /api/runs/{runId}/output has it. */
                        output: components["schemas"]["Json"];
                        /** @description Null: there is none yet. */
                        outputBytes: number | null;
                        cancelReason: string | null;
                        steps: {
                            step: string;
                            /** @enum {string} */
                            type: "single" | "map" | "wait";
                            dependsOn: string[];
                            /** @description Null of what has none: waits, and steps that a runner executes. */
                            queue: string | null;
                            /** @enum {string} */
                            status: "created" | "started" | "waiting" | "completed" | "failed" | "skipped";
                            /** @description Of a map: its elements, as far as they are known. Others were skipped or cancelled. */
                            tasks: {
                                total: number;
                                queued: number;
                                started: number;
                                completed: number;
                                failed: number;
                            } | null;
                            /** @description Those of the task that had the most. */
                            attempts: number;
                            maxAttempts: number | null;
                            /** @description That one attempt may take; of a wait, until it times out. */
                            timeoutSeconds: number | null;
                            /** @description When what it depends on had ended. */
                            readyAt: string | null;
                            /** @description When the next of its queued work may begin (start delay, retry); of an open wait, when it times out. */
                            dueAt: string | null;
                            /** @description When its first attempt began. Ready and not started: no worker has it yet. */
                            startedAt: string | null;
                            endedAt: string | null;
                            skipReason: string | null;
                            /** @description Why it failed; of a step that is still tried, why the last attempt did. */
                            error: string | null;
                            errorName: string | null;
                            errorStack: string | null;
                            /** @description Null where it is larger than 65536 bytes: then GET /api/runs/{runId}/steps/{step}/output has it. */
                            output: components["schemas"]["Json"];
                            /** @description Null: there is none yet. */
                            outputBytes: number | null;
                            /** @description The attempts of its first tasks, in order. The tasks of the step have all. */
                            spans: {
                                task: number;
                                attempt: number;
                                /**
                                 * @description stalled: whoever made it was not heard of again. released: it was given back. type_violation: its output was not what the next step takes.
                                 * @enum {string}
                                 */
                                outcome: "running" | "completed" | "failed" | "type_violation" | "stalled" | "released" | "cancelled" | "skipped";
                                worker: string | null;
                                /** Format: date-time */
                                startedAt: string;
                                endedAt: string | null;
                            }[];
                        }[];
                        /** @description Since when it waits for a runner, or did when it was taken last. */
                        queuedAt: string | null;
                        leaseUntil: string | null;
                    };
                };
            };
            /** @description The run was started. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @description The id of the run.
                         */
                        runId: string;
                        flow: string;
                        /**
                         * @description queue: step queues and their workers. runner: as a whole on a runner.
                         * @enum {string}
                         */
                        placement: "queue" | "runner";
                        /** @description Null: it was started in SQL and belongs to none. */
                        workspace: string | null;
                        env: string | null;
                        /** @enum {string} */
                        status: "queued" | "running" | "paused" | "success" | "error" | "cancelled";
                        /** @description Only runners of this pool claim it; null: any runner. */
                        pool: string | null;
                        /** @description Whether a runner has it, or may take it; a resumed run is paused and queued. Null: it is on step queues. */
                        claimState: ("queued" | "claimed" | "running" | "paused" | "complete" | "failed" | "abandoned") | null;
                        /** @description The runner that holds it. */
                        leasedBy: string | null;
                        /** Format: date-time */
                        createdAt: string;
                        startedAt: string | null;
                        endedAt: string | null;
                        error: string | null;
                        /** @description Null where it is larger than 65536 bytes: then GET /api/runs/{runId}/input has it. */
                        input: components["schemas"]["Json"];
                        /** @description As JSON text; of a large value about so many. */
                        inputBytes: number;
                        /** @description Null where it is larger than 65536 bytes: then GET /api/runs/{runId}/output has it. */
                        output: components["schemas"]["Json"];
                        /** @description Null: there is none yet. */
                        outputBytes: number | null;
                        cancelReason: string | null;
                        steps: {
                            step: string;
                            /** @enum {string} */
                            type: "single" | "map" | "wait";
                            dependsOn: string[];
                            /** @description Null of what has none: waits, and steps that a runner executes. */
                            queue: string | null;
                            /** @enum {string} */
                            status: "created" | "started" | "waiting" | "completed" | "failed" | "skipped";
                            /** @description Of a map: its elements, as far as they are known. Others were skipped or cancelled. */
                            tasks: {
                                total: number;
                                queued: number;
                                started: number;
                                completed: number;
                                failed: number;
                            } | null;
                            /** @description Those of the task that had the most. */
                            attempts: number;
                            maxAttempts: number | null;
                            /** @description That one attempt may take; of a wait, until it times out. */
                            timeoutSeconds: number | null;
                            /** @description When what it depends on had ended. */
                            readyAt: string | null;
                            /** @description When the next of its queued work may begin (start delay, retry); of an open wait, when it times out. */
                            dueAt: string | null;
                            /** @description When its first attempt began. Ready and not started: no worker has it yet. */
                            startedAt: string | null;
                            endedAt: string | null;
                            skipReason: string | null;
                            /** @description Why it failed; of a step that is still tried, why the last attempt did. */
                            error: string | null;
                            errorName: string | null;
                            errorStack: string | null;
                            /** @description Null where it is larger than 65536 bytes: then GET /api/runs/{runId}/steps/{step}/output has it. */
                            output: components["schemas"]["Json"];
                            /** @description Null: there is none yet. */
                            outputBytes: number | null;
                            /** @description The attempts of its first tasks, in order. The tasks of the step have all. */
                            spans: {
                                task: number;
                                attempt: number;
                                /**
                                 * @description stalled: whoever made it was not heard of again. released: it was given back. type_violation: its output was not what the next step takes.
                                 * @enum {string}
                                 */
                                outcome: "running" | "completed" | "failed" | "type_violation" | "stalled" | "released" | "cancelled" | "skipped";
                                worker: string | null;
                                /** Format: date-time */
                                startedAt: string;
                                endedAt: string | null;
                            }[];
                        }[];
                        /** @description Since when it waits for a runner, or did when it was taken last. */
                        queuedAt: string | null;
                        leaseUntil: string | null;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF201 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF202, SF910 */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF203 */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF206, SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRun: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @description The id of the run.
                         */
                        runId: string;
                        flow: string;
                        /**
                         * @description queue: step queues and their workers. runner: as a whole on a runner.
                         * @enum {string}
                         */
                        placement: "queue" | "runner";
                        /** @description Null: it was started in SQL and belongs to none. */
                        workspace: string | null;
                        env: string | null;
                        /** @enum {string} */
                        status: "queued" | "running" | "paused" | "success" | "error" | "cancelled";
                        /** @description Only runners of this pool claim it; null: any runner. */
                        pool: string | null;
                        /** @description Whether a runner has it, or may take it; a resumed run is paused and queued. Null: it is on step queues. */
                        claimState: ("queued" | "claimed" | "running" | "paused" | "complete" | "failed" | "abandoned") | null;
                        /** @description The runner that holds it. */
                        leasedBy: string | null;
                        /** Format: date-time */
                        createdAt: string;
                        startedAt: string | null;
                        endedAt: string | null;
                        error: string | null;
                        /** @description Null where it is larger than 65536 bytes: then GET /api/runs/{runId}/input has it. */
                        input: components["schemas"]["Json"];
                        /** @description As JSON text; of a large value about so many. */
                        inputBytes: number;
                        /** @description Null where it is larger than 65536 bytes: then GET /api/runs/{runId}/output has it. */
                        output: components["schemas"]["Json"];
                        /** @description Null: there is none yet. */
                        outputBytes: number | null;
                        cancelReason: string | null;
                        steps: {
                            step: string;
                            /** @enum {string} */
                            type: "single" | "map" | "wait";
                            dependsOn: string[];
                            /** @description Null of what has none: waits, and steps that a runner executes. */
                            queue: string | null;
                            /** @enum {string} */
                            status: "created" | "started" | "waiting" | "completed" | "failed" | "skipped";
                            /** @description Of a map: its elements, as far as they are known. Others were skipped or cancelled. */
                            tasks: {
                                total: number;
                                queued: number;
                                started: number;
                                completed: number;
                                failed: number;
                            } | null;
                            /** @description Those of the task that had the most. */
                            attempts: number;
                            maxAttempts: number | null;
                            /** @description That one attempt may take; of a wait, until it times out. */
                            timeoutSeconds: number | null;
                            /** @description When what it depends on had ended. */
                            readyAt: string | null;
                            /** @description When the next of its queued work may begin (start delay, retry); of an open wait, when it times out. */
                            dueAt: string | null;
                            /** @description When its first attempt began. Ready and not started: no worker has it yet. */
                            startedAt: string | null;
                            endedAt: string | null;
                            skipReason: string | null;
                            /** @description Why it failed; of a step that is still tried, why the last attempt did. */
                            error: string | null;
                            errorName: string | null;
                            errorStack: string | null;
                            /** @description Null where it is larger than 65536 bytes: then GET /api/runs/{runId}/steps/{step}/output has it. */
                            output: components["schemas"]["Json"];
                            /** @description Null: there is none yet. */
                            outputBytes: number | null;
                            /** @description The attempts of its first tasks, in order. The tasks of the step have all. */
                            spans: {
                                task: number;
                                attempt: number;
                                /**
                                 * @description stalled: whoever made it was not heard of again. released: it was given back. type_violation: its output was not what the next step takes.
                                 * @enum {string}
                                 */
                                outcome: "running" | "completed" | "failed" | "type_violation" | "stalled" | "released" | "cancelled" | "skipped";
                                worker: string | null;
                                /** Format: date-time */
                                startedAt: string;
                                endedAt: string | null;
                            }[];
                        }[];
                        /** @description Since when it waits for a runner, or did when it was taken last. */
                        queuedAt: string | null;
                        leaseUntil: string | null;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRunStatus: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run and its steps. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @description The id of the run.
                         */
                        runId: string;
                        flow: string;
                        /**
                         * @description queue: step queues and their workers. runner: as a whole on a runner.
                         * @enum {string}
                         */
                        placement: "queue" | "runner";
                        /** @description Null: it was started in SQL and belongs to none. */
                        workspace: string | null;
                        env: string | null;
                        /** @enum {string} */
                        status: "queued" | "running" | "paused" | "success" | "error" | "cancelled";
                        /** @description Only runners of this pool claim it; null: any runner. */
                        pool: string | null;
                        /** @description Whether a runner has it, or may take it; a resumed run is paused and queued. Null: it is on step queues. */
                        claimState: ("queued" | "claimed" | "running" | "paused" | "complete" | "failed" | "abandoned") | null;
                        /** @description The runner that holds it. */
                        leasedBy: string | null;
                        /** Format: date-time */
                        createdAt: string;
                        startedAt: string | null;
                        endedAt: string | null;
                        error: string | null;
                        steps: {
                            step: string;
                            /** @enum {string} */
                            status: "created" | "started" | "waiting" | "completed" | "failed" | "skipped";
                            /** @description Of a map: its elements, as far as they are known. */
                            tasks: {
                                total: number;
                                /** @description Those that have not ended. */
                                left: number;
                            } | null;
                        }[];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listRunEvents: {
        parameters: {
            query?: {
                /** @description The id of the last event that was read. */
                after?: string;
                /** @description How many at most; 50 unless it says otherwise, 500 at most. */
                limit?: string;
            };
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events in the order in which they happened. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        events: {
                            /** @description Behind which the next page begins. */
                            id: string;
                            type: string;
                            /** @description The step, or `step[3]` for an element of a map. */
                            node: string | null;
                            /** Format: date-time */
                            at: string;
                            payload: {
                                [key: string]: components["schemas"]["Json"];
                            } | null;
                        }[];
                    };
                    "text/event-stream": string;
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    cancelRun: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default cancelled over HTTP */
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description Whether this request cancelled it: false when it had ended before. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        cancelled: boolean;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    retryRun: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Whether it was started again: false for a run that goes on, or was a success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        retried: boolean;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRunInput: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The input. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        input: components["schemas"]["Json"];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRunOutput: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The output; null while there is none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        output: components["schemas"]["Json"];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getStepOutput: {
        parameters: {
            query?: {
                /** @description The index of the task; of a map, the element. */
                task?: string;
            };
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
                /** @description The slug of the step. */
                step: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The output; null while there is none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        output: components["schemas"]["Json"];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF107, SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listTasks: {
        parameters: {
            query?: {
                /** @description The index of the last task of the page before. */
                after?: string;
                status?: "queued" | "started" | "waiting" | "completed" | "failed" | "skipped" | "cancelled";
                /** @description How many at most; 50 unless it says otherwise, 500 at most. */
                limit?: string;
            };
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
                /** @description The slug of the step. */
                step: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tasks. `next` goes into `after`; null on the last page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        tasks: {
                            /** @description Its index; of a map that of its element. */
                            task: number;
                            /** @enum {string} */
                            status: "queued" | "started" | "waiting" | "completed" | "failed" | "skipped" | "cancelled";
                            queuedAt: string | null;
                            /** @description When its last attempt began. */
                            startedAt: string | null;
                            endedAt: string | null;
                            /** @description Of its last attempt. */
                            worker: string | null;
                            attempts: {
                                attempt: number;
                                /**
                                 * @description stalled: whoever made it was not heard of again. released: it was given back. type_violation: its output was not what the next step takes.
                                 * @enum {string}
                                 */
                                outcome: "running" | "completed" | "failed" | "type_violation" | "stalled" | "released" | "cancelled" | "skipped";
                                worker: string | null;
                                /** @description The worker function of the worker, while it is known. */
                                function: string | null;
                                startedAt: string | null;
                                endedAt: string | null;
                                error: string | null;
                                errorName: string | null;
                                errorStack: string | null;
                            }[];
                            error: string | null;
                            /** @description Null: there is none yet. */
                            outputBytes: number | null;
                        }[];
                        next: number | null;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF107, SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    cancelRuns: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    runIds: string[];
                    /** @default cancelled over HTTP */
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description What became of each run, in the order asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        runs: {
                            /**
                             * Format: uuid
                             * @description The id of the run.
                             */
                            runId: string;
                            /**
                             * @description unchanged: its status did not allow it. failed: see error; what became of it is not known.
                             * @enum {string}
                             */
                            outcome: "cancelled" | "unchanged" | "not_found" | "failed";
                            error: string | null;
                        }[];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    retryRuns: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    runIds: string[];
                };
            };
        };
        responses: {
            /** @description What became of each run, in the order asked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        runs: {
                            /**
                             * Format: uuid
                             * @description The id of the run.
                             */
                            runId: string;
                            /**
                             * @description unchanged: its status did not allow it. failed: see error; what became of it is not known.
                             * @enum {string}
                             */
                            outcome: "retried" | "unchanged" | "not_found" | "failed";
                            error: string | null;
                        }[];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listWaits: {
        parameters: {
            query?: {
                /** @description How many at most; 50 unless it says otherwise, 500 at most. */
                limit?: string;
            };
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Open waits. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        waits: {
                            /**
                             * Format: uuid
                             * @description The id of the run.
                             */
                            runId: string;
                            flow: string;
                            /**
                             * @description queue: step queues and their workers. runner: as a whole on a runner.
                             * @enum {string}
                             */
                            placement: "queue" | "runner";
                            step: string;
                            /** Format: date-time */
                            openedAt: string;
                            /** @description When it times out; null: never. */
                            dueAt: string | null;
                        }[];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    resumeWait: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
                step: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The output of the wait.
                     * @default null
                     */
                    payload?: components["schemas"]["Json"];
                };
            };
        };
        responses: {
            /** @description What became of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description Only with accepted, and with early once the wait opens, does the payload count.
                         * @enum {string}
                         */
                        outcome: "accepted" | "early" | "already_resumed" | "timed_out" | "run_ended" | "skipped";
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF209, SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF203 */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF206, SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    issueWaitToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
                step: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description How long it is good. Default: a week longer than the wait is open. */
                    expiresInSeconds?: number;
                };
            };
        };
        responses: {
            /** @description The token. It is kept nowhere. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        token: string;
                        /** Format: date-time */
                        expiresAt: string;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF209, SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF206, SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    resumeWithToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                    /**
                     * @description The output of the wait.
                     * @default null
                     */
                    payload?: components["schemas"]["Json"];
                };
            };
        };
        responses: {
            /** @description What became of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uuid
                         * @description The id of the run.
                         */
                        runId: string;
                        step: string;
                        /**
                         * @description Only with accepted, and with early once the wait opens, does the payload count.
                         * @enum {string}
                         */
                        outcome: "accepted" | "early" | "already_resumed" | "timed_out" | "run_ended" | "skipped";
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF207, SF208 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF209 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF203 */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    receiveWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "*/*": unknown;
            };
        };
        responses: {
            /** @description It started nothing: it had started its run before, or the webhook is not for it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        outcome: "repeated" | "ignored";
                        runId: string | null;
                    };
                };
            };
            /** @description The delivery started a run. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        outcome: "started";
                        /**
                         * Format: uuid
                         * @description The id of the run.
                         */
                        runId: string;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF922 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF201, SF921 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF910 */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF924 */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF203, SF923 */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listFlows: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Flows by slug. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        flows: {
                            flow: string;
                            /** @description What the versions of one flow have in common: the slug without the number at its end. */
                            family: string;
                            version: number | null;
                            /** @description Where a run of it can be started; the first one is the default. */
                            placements: ("queue" | "runner")[];
                            /** @description Of a flow that is compiled: one queue, or one per step. */
                            queueMode: ("flow" | "step") | null;
                            /** @description True: its step queues give no work out. */
                            isPaused: boolean;
                            pausedAt: string | null;
                            compiledAt: string | null;
                            /** @description JSON Schema of the input; null where none is known. */
                            inputSchema: components["schemas"]["Json"];
                            /** @description What is left of it on step queues; null of a flow that is not compiled, and for a workspace. */
                            drain: {
                                openRuns: number;
                                openWaits: number;
                                oldestOpenRunAt: string | null;
                                liveWorkers: number;
                                /** @description None of its runs is open: what serves it may go once nothing starts it. */
                                isDrained: boolean;
                            } | null;
                            /** @description Told to the operator only. */
                            schedules: {
                                /**
                                 * @description A job of the database, or a trigger of starflow.yaml.
                                 * @enum {string}
                                 */
                                source: "pg_cron" | "trigger";
                                name: string;
                                schedule: string;
                                /** @description Of a trigger; a job goes by the clock of the database. */
                                timeZone: string | null;
                                isActive: boolean;
                            }[];
                            steps: {
                                step: string;
                                /** @enum {string} */
                                type: "single" | "map" | "wait";
                                dependsOn: string[];
                                /** @description Its route; null of a wait, and of a flow that is not compiled. */
                                queue: string | null;
                                /** @description As they apply, its own or those of the flow; null: the default, or none. */
                                options: {
                                    maxAttempts: number | null;
                                    baseDelaySeconds: number | null;
                                    maxDelaySeconds: number | null;
                                    timeoutSeconds: number | null;
                                    startDelaySeconds: number | null;
                                };
                                /** @description On what its outputs must, or must not, contain; null: it has none. */
                                condition: {
                                    if: components["schemas"]["Json"];
                                    ifNot: components["schemas"]["Json"];
                                    /** @enum {string} */
                                    whenUnmet: "fail" | "skip" | "skip-cascade";
                                } | null;
                                /** @enum {string} */
                                whenExhausted: "fail" | "skip" | "skip-cascade";
                            }[];
                        }[];
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    pauseFlow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The slug of the flow. */
                flow: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Whether it is paused now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        flow: string;
                        isPaused: boolean;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF201 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    resumeFlow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The slug of the flow. */
                flow: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Whether it is paused now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        flow: string;
                        isPaused: boolean;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF201 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listQueues: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The queues of flows and of queue workers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        queues: {
                            queue: string;
                            /** @description Whose routes lead there, as `flow.step`. */
                            steps: string[];
                            /** @description Messages, counted up to 10000; null: the queue is gone. */
                            depth: number | null;
                            /** @description Those that a worker has taken and not settled. */
                            inFlight: number | null;
                            /** @description Since the oldest message was sent. */
                            oldestSeconds: number | null;
                            /** @description Since a message could have been taken; null: none could be. */
                            waitingSeconds: number | null;
                            /** @description Since about a minute ago; null where nothing samples the queues. */
                            donePerMinute: number | null;
                            /** @description Tasks past their recovery boundary, counted up to 1000. */
                            stalled: number;
                            /** @description Messages that no task knows, among the oldest 1000; null of the queue of a queue worker. */
                            unsupported: number | null;
                            liveWorkers: number;
                            /** @description Worker functions that serve it. */
                            functions: string[];
                            /** @description All of them are disabled. */
                            isFenced: boolean;
                            fence: string | null;
                            /** @description What is wrong, the worst first. */
                            troubles: ("gone" | "fenced" | "no_worker" | "stalled" | "waiting" | "unsupported")[];
                        }[];
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    showQueueHistory: {
        parameters: {
            query?: {
                /** @description Default: an hour before `to`. */
                from?: string;
                /** @description Default: now. */
                to?: string;
            };
            header?: never;
            path: {
                /** @description The name of the queue. */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Points in order; none where the sampling is not scheduled. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        queue: string;
                        samples: {
                            /** Format: date-time */
                            at: string;
                            depth: number;
                            inFlight: number;
                            oldestSeconds: number | null;
                            liveWorkers: number;
                            /** @description Messages done since the point before. */
                            done: number | null;
                            donePerMinute: number | null;
                        }[];
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listCoverage: {
        parameters: {
            query?: {
                flow?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every persisted route. `problem` says why its work would not be done now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        routes: {
                            flow: string;
                            step: string;
                            queue: string;
                            depth: number | null;
                            oldestSeconds: number | null;
                            liveWorkers: number;
                            functions: string[];
                            isFenced: boolean;
                            fence: string | null;
                            problem: string | null;
                        }[];
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listWorkers: {
        parameters: {
            query?: {
                /** @description Also silent and stopped ones. */
                all?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Workers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        workers: {
                            /** Format: uuid */
                            workerId: string;
                            function: string;
                            queue: string;
                            /** @enum {string} */
                            state: "live" | "finishing" | "silent" | "stopped";
                            /** Format: date-time */
                            startedAt: string;
                            ageSeconds: number;
                            heartbeatSecondsAgo: number;
                            /** @description How many it has ended; null where it does not tell. */
                            tasks: number | null;
                            /**
                             * Format: uuid
                             * @description The isolate or process that it lives in.
                             */
                            executionId: string;
                            /** @description How many live or lived there, this one among them. */
                            workersInExecution: number;
                            /** @description CPU of that isolate or process; null: nobody has measured it. */
                            cpuMs: number | null;
                            /** @description That CPU by the tasks of all workers in it; null: not measured, or no task yet. */
                            cpuMsPerTask: number | null;
                        }[];
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listFunctions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Worker functions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        functions: {
                            function: string;
                            /** @description False: it is never pinged, and its workers claim nothing. */
                            isEnabled: boolean;
                            /** @description What restoring puts back; null where no fence is. */
                            isEnabledBeforeFence: boolean | null;
                            fencedBy: string | null;
                            fencedAt: string | null;
                            disabledReason: string | null;
                            /**
                             * @description How its workers are started: by pings, or as a process by somebody else.
                             * @enum {string}
                             */
                            startMode: "http" | "process";
                            queues: string[];
                            liveWorkers: number;
                            /** @description When it was pinged last. */
                            lastInvokedAt: string | null;
                            /** @description Starts in a row that have failed. */
                            failedStarts: number;
                            lastError: string | null;
                            lastErrorAt: string | null;
                            /** @description Workers that were started within the last hour. */
                            lives: number;
                            /** @description What one of them did on average; null where that is not known, or its queues are shared. */
                            tasksPerLife: number | null;
                            /** @description Of these lives, and of workers that go on since before: those whose isolate or process was measured. */
                            measuredWorkers: number;
                            /** @description CPU of these isolates and processes by the tasks done in them; null: none was measured, or had a task. */
                            cpuMsPerTask: number | null;
                        }[];
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    fenceFunction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The worker function. */
                function: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Who fences; only the same name may fence it again.
                     * @default operator
                     */
                    by?: string;
                };
            };
        };
        responses: {
            /** @description The function, fenced. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        function: string;
                        /** @description False: it is never pinged, and its workers claim nothing. */
                        isEnabled: boolean;
                        /** @description What restoring puts back; null where no fence is. */
                        isEnabledBeforeFence: boolean | null;
                        fencedBy: string | null;
                        fencedAt: string | null;
                        disabledReason: string | null;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF422 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF421 */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    restoreFunction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The worker function. */
                function: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Also while a rollout or deploy is at work on it: it is told to stop, and what it deploys may come all the same.
                     * @default false
                     */
                    force?: boolean;
                };
            };
        };
        responses: {
            /** @description The function, without a fence. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        function: string;
                        /** @description False: it is never pinged, and its workers claim nothing. */
                        isEnabled: boolean;
                        /** @description What restoring puts back; null where no fence is. */
                        isEnabledBeforeFence: boolean | null;
                        fencedBy: string | null;
                        fencedAt: string | null;
                        disabledReason: string | null;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF422 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF632 */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listRunners: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Runners. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        runners: {
                            runnerId: string;
                            /** @description It claims runs of this pool and of none; null: only of none. */
                            pool: string | null;
                            capacity: number;
                            runs: number;
                            /** Format: date-time */
                            lastHeartbeat: string;
                            isLive: boolean;
                            /** @description False while it drains, or while its claims are not answered. */
                            isAccepting: boolean;
                            /** @description Under which it reports: MESH_WORKSPACE of its process. */
                            workspace: string | null;
                        }[];
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listLeases: {
        parameters: {
            query?: {
                /** @description How many at most; 50 unless it says otherwise, 500 at most. */
                limit?: string;
            };
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Leases. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        leases: {
                            /**
                             * Format: uuid
                             * @description The id of the run.
                             */
                            runId: string;
                            flow: string;
                            workspace: string;
                            runner: string;
                            /**
                             * @description claimed: it was taken, and is not executed yet.
                             * @enum {string}
                             */
                            state: "claimed" | "running";
                            /** @description How often it was taken, by whomever. */
                            claims: number;
                            /** Format: date-time */
                            leaseUntil: string;
                            lastHeartbeat: string | null;
                        }[];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listUnservedRuns: {
        parameters: {
            query?: {
                /** @description How many at most; 50 unless it says otherwise, 500 at most. */
                limit?: string;
            };
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Runs and the reason: no runner lives that takes new runs, one has the flow and refuses it (detail says why), none has code of the definition that the run is tied to, or none of those is of its pool. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        runs: {
                            /**
                             * Format: uuid
                             * @description The id of the run.
                             */
                            runId: string;
                            flow: string;
                            pool: string | null;
                            /** Format: date-time */
                            queuedAt: string;
                            /** @enum {string} */
                            reason: "no_runner" | "refused" | "other_definition" | "other_pool";
                            detail: string | null;
                        }[];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    showOverview: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The figures, a few seconds old at most. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: date-time */
                        asOf: string;
                        runs: {
                            /** @description Open runs by status, each counted up to 10000. */
                            open: {
                                queued: number;
                                running: number;
                                paused: number;
                            };
                            /** @description The last hour, the oldest minute first; it begins later where there were too many runs to count. */
                            minutes: {
                                /** Format: date-time */
                                at: string;
                                started: number;
                                failed: number;
                            }[];
                        };
                        openWaits: number;
                        /** @description Null for a workspace. */
                        queues: {
                            total: number;
                            inTrouble: {
                                queue: string;
                                troubles: ("gone" | "fenced" | "no_worker" | "stalled" | "waiting" | "unsupported")[];
                                depth: number | null;
                                waitingSeconds: number | null;
                                oldestSeconds: number | null;
                                stalled: number;
                                liveWorkers: number;
                                fence: string | null;
                            }[];
                        } | null;
                        /** @description Null for a workspace, and where there are no step queues. */
                        workers: {
                            live: number;
                        } | null;
                        /** @description Null for a workspace. */
                        runners: {
                            live: number;
                            capacity: number;
                            runs: number;
                        } | null;
                        /** @description How far the warm tier is behind; null for a workspace, and where runs are not mirrored. */
                        outbox: {
                            unapplied: number;
                            oldestMs: number;
                            /** Format: date-time */
                            asOf: string;
                        } | null;
                        liveness: {
                            /** Format: date-time */
                            checkedAt: string;
                            /** @description Open runs without a next actor, 100 at most: there should be none. */
                            problems: {
                                /**
                                 * @description queue: step queues and their workers. runner: as a whole on a runner.
                                 * @enum {string}
                                 */
                                placement: "queue" | "runner";
                                /** @enum {string} */
                                kind: "run" | "step" | "task";
                                flow: string;
                                /**
                                 * Format: uuid
                                 * @description The id of the run.
                                 */
                                runId: string;
                                step: string | null;
                                task: number | null;
                                reason: string;
                            }[];
                        };
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listPeers: {
        parameters: {
            query?: {
                /** @description How many at most; 50 unless it says otherwise, 500 at most. */
                limit?: string;
            };
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Runs that are held or paused. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Everything that was written up to then is in the answer; null: nothing is known yet. */
                        asOf: string | null;
                        peers: {
                            /**
                             * Format: uuid
                             * @description The id of the run.
                             */
                            runId: string;
                            flow: string | null;
                            workspace: string;
                            env: string;
                            /** @enum {string} */
                            status: "queued" | "running" | "paused" | "success" | "error" | "cancelled";
                            phase: string | null;
                            /** @description Who holds it. */
                            runner: string | null;
                            active: {
                                /** @description The step, or `step[3]` for an element of a map. */
                                node: string;
                                attempt: number | null;
                                /** Format: date-time */
                                since: string;
                                /** @description What it last said of itself; null: nothing. */
                                progress: components["schemas"]["Json"];
                            }[];
                        }[];
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911, SF941 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    showLiveRun: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run; null where the warm tier does not know it yet, or the server does not mirror. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Everything that was written up to then is in the answer; null: nothing is known yet. */
                        asOf: string | null;
                        run: {
                            /**
                             * Format: uuid
                             * @description The id of the run.
                             */
                            runId: string;
                            flow: string | null;
                            workspace: string;
                            env: string;
                            /** @enum {string} */
                            status: "queued" | "running" | "paused" | "success" | "error" | "cancelled";
                            phase: string | null;
                            /** @description Who holds it. */
                            runner: string | null;
                            active: {
                                /** @description The step, or `step[3]` for an element of a map. */
                                node: string;
                                attempt: number | null;
                                /** Format: date-time */
                                since: string;
                                /** @description What it last said of itself; null: nothing. */
                                progress: components["schemas"]["Json"];
                            }[];
                        } | null;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911, SF941 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    showMirror: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Writes that it has not, by age, and the latest of the last week that were set aside since it refuses them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        unapplied: {
                            ageBucket: string;
                            changes: number;
                        }[];
                        oldestMs: number;
                        /** Format: date-time */
                        asOf: string;
                        refused: {
                            outboxId: string;
                            runId: string | null;
                            kind: string;
                            reason: string;
                            /** Format: date-time */
                            writtenAt: string;
                        }[];
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911, SF941 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    followChanges: {
        parameters: {
            query?: {
                /** @description Runs to watch, with commas between; 20 at most. */
                run?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                    "text/event-stream": string;
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF802 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    claimWorkerJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Tells workers apart; of the worker's own making. */
                    workerId: string;
                    kinds: string[];
                    /**
                     * @description How long the job is the worker's without another heartbeat.
                     * @default 30
                     */
                    leaseSeconds?: number;
                    /**
                     * @description How long the answer is held back while there is no job.
                     * @default 20
                     */
                    waitSeconds?: number;
                };
            };
        };
        responses: {
            /** @description The job, or null. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        job: {
                            /** Format: uuid */
                            jobId: string;
                            /**
                             * Format: uuid
                             * @description The id of the run.
                             */
                            runId: string;
                            /** @description The step, or `step[3]` for an element of a map. */
                            node: string;
                            kind: string;
                            payload: components["schemas"]["Json"];
                            attempt: number;
                            /** Format: date-time */
                            leaseUntil: string;
                        } | null;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911, SF942 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    heartbeatWorkerJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the job. */
                jobId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description As in the claim. */
                    workerId: string;
                    /** @description As the claim answered it. */
                    attempt: number;
                    /**
                     * @description How long the job is the worker's without another heartbeat.
                     * @default 30
                     */
                    leaseSeconds?: number;
                };
            };
        };
        responses: {
            /** @description The lease lasts. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: date-time */
                        leaseUntil: string;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF944 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF943 */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911, SF942 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    completeWorkerJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the job. */
                jobId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description As in the claim. */
                    workerId: string;
                    /** @description As the claim answered it. */
                    attempt: number;
                    /**
                     * @description The output of the step.
                     * @default null
                     */
                    result?: components["schemas"]["Json"];
                };
            };
        };
        responses: {
            /** @description It is kept. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        jobId: string;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF944 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF943 */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911, SF942 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    failWorkerJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description The workspace. Required with the operator's token; with one of a workspace it may only name that. `*` stands for every workspace. */
                "starflow-workspace"?: string;
            };
            path: {
                /** @description The id of the job. */
                jobId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description As in the claim. */
                    workerId: string;
                    /** @description As the claim answered it. */
                    attempt: number;
                    error: string;
                    /**
                     * @description No further attempt can help.
                     * @default false
                     */
                    isPermanent?: boolean;
                };
            };
        };
        responses: {
            /** @description It is kept. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        jobId: string;
                    };
                };
            };
            /** @description SF902, SF905 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF904 */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF944 */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF943 */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911, SF942 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whoever sends the request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        kind: "operator" | "workspace";
                        /** @description Null: the operator, who names one per request. */
                        workspace: string | null;
                        /** @description Where a form that starts runs may begin: the own one; for the operator that of webhooks and schedules. */
                        defaultWorkspace: string;
                        /** @description When the sign-in is over; null for a bearer token. */
                        expiresAt: string | null;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                };
            };
        };
        responses: {
            /** @description Signed in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        kind: "operator" | "workspace";
                        /** @description Null: the operator, who names one per request. */
                        workspace: string | null;
                        /** @description Where a form that starts runs may begin: the own one; for the operator that of webhooks and schedules. */
                        defaultWorkspace: string;
                        /** @description When the sign-in is over; null for a bearer token. */
                        expiresAt: string | null;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sign-in is over, and the cookie gone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    redeemSignInLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                };
            };
        };
        responses: {
            /** @description Signed in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        kind: "operator" | "workspace";
                        /** @description Null: the operator, who names one per request. */
                        workspace: string | null;
                        /** @description Where a form that starts runs may begin: the own one; for the operator that of webhooks and schedules. */
                        defaultWorkspace: string;
                        /** @description When the sign-in is over; null for a bearer token. */
                        expiresAt: string | null;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF907 */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process lives. Processes that belong together show the same database id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "starting" | "ready" | "draining";
                        /** @enum {string} */
                        role: "edge" | "runner" | "both";
                        service: string;
                        /** @description Under which heartbeats are reported. */
                        workspace: string;
                        substrate: string;
                        databaseId: string;
                        runner: {
                            runnerId: string;
                            pool: string | null;
                            activeRuns: number;
                        } | null;
                        version: string;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is ready. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ready";
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The figures. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF903 */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF906 */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    describe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The description. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description SF902 */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF914 */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description SF911 */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
}
