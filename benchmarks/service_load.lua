-- Workers for wrk: each thread has one connection, asks for a ticket, tells its reward, and notes how long the pair took.
--   wrk -t 8 -c 8 -d 5s --timeout 30s -s service_load.lua http://127.0.0.1:8080 -- STUDY [PAIRS_A_SECOND_OF_ALL WORKERS]
local ffi = require("ffi")
ffi.cdef [[ typedef struct { long sec; long usec; } moment; int gettimeofday(moment *at, void *zone); ]]
local moment = ffi.new("moment")

local function now() -- milliseconds
  ffi.C.gettimeofday(moment, nil)
  return tonumber(moment.sec) * 1000 + tonumber(moment.usec) / 1000
end

local threads = {}

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

function init(args)
  wrk.headers["Content-Type"] = "application/json"
  ask = wrk.format("POST", "/api/studies/" .. args[1] .. "/ask", nil, '{"worker": "w' .. number .. '", "wait": 5}')
  tell_path = "/api/studies/" .. args[1] .. "/tell"
  math.randomseed(1 + number)
  took, failed, ticket = {}, "", nil
  every = args[2] and 1000 * tonumber(args[3]) / tonumber(args[2]) or 0
  due = now() + every * number / (tonumber(args[3]) or 1)
end

function delay() -- before each request
  if ticket or every == 0 then return 0 end
  local wait = math.max(0, due - now())
  due = math.max(due + every, now() - 1000)
  return wait
end

function request()
  if ticket then
    return wrk.format("POST", tell_path, nil, string.format('{"ticket": %s, "reward": %d}', ticket, math.random(0, 1)))
  end
  began = now()
  return ask
end

function response(status, headers, body)
  if status ~= 200 then failed = status .. " " .. body end
  if ticket then
    table.insert(took, string.format("%.2f", now() - began))
    ticket = nil
  else
    ticket = string.match(body, '"ticket":(%d+)')
  end
end

function done(summary) -- what the benchmark reads: errors on a line of their own, and all times
  for _, thread in ipairs(threads) do
    if thread:get("failed") ~= "" then print("failed: " .. thread:get("failed")) end
  end
  local errors = summary.errors
  print("errors: " .. errors.connect + errors.read + errors.write + errors.timeout + errors.status)
  for _, thread in ipairs(threads) do print("took: " .. table.concat(thread:get("took"), " ")) end
end
