import sys
import urllib.request

sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())
