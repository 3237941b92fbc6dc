/** The few globals of Deno and of Supabase's edge runtime that we use, reached without their type packages. */
export interface DenoGlobals {
  readonly Deno?: {
    readonly env: { toObject(): Record<string, string>; get(name: string): string | undefined }
    serve(handler: (request: Request) => Promise<Response>): unknown
  }
  readonly EdgeRuntime?: { waitUntil(promise: Promise<unknown>): unknown }
  addEventListener?(type: 'beforeunload', listener: (event: { detail?: { reason?: unknown } }) => void): void
}

export const denoGlobals = globalThis as unknown as DenoGlobals
